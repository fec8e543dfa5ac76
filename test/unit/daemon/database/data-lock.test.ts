import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { acquireDataLock } from '../../../../src/daemon/database/data-lock.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const MODULE = resolve(import.meta.dirname, '../../../../src/daemon/database/data-lock.ts');

describe('the lock on the data folder', () => {
  it('has one holder, and names it', async () => {
    const directory = join(await temporaryDirectory(), 'made', 'by', 'the lock');
    const lock = acquireDataLock(directory);
    expect(() => acquireDataLock(directory)).toThrow(
      new RegExp(`in use by another daemon \\(pid ${process.pid} on`),
    );
    lock.release();
    lock.release();
    acquireDataLock(directory).release();
  });

  it('is free again when its holder is killed', async () => {
    const directory = await temporaryDirectory();
    const script = `const { acquireDataLock } = await import(${JSON.stringify(MODULE)});
      globalThis.lock = acquireDataLock(${JSON.stringify(directory)});
      console.log('locked'); setInterval(() => undefined, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    await once(child.stdout, 'data');
    expect(() => acquireDataLock(directory)).toThrow(new RegExp(`pid ${child.pid} on`));
    child.kill('SIGKILL');
    await once(child, 'exit');
    acquireDataLock(directory).release();
  });
});
