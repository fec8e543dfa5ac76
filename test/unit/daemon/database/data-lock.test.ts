import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstat, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DatabaseError } from '../../../../src/daemon/database/database-error.ts';
import {
  acquireDataLock,
  DataLockHeldError,
  waitForDataLock,
} from '../../../../src/daemon/database/data-lock.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const MODULE = resolve(import.meta.dirname, '../../../../src/daemon/database/data-lock.ts');

const NOW = new Date(Date.UTC(2026, 0, 1));

describe('the lock on the data folder', () => {
  it('has one holder, and names it', async () => {
    const directory = join(await temporaryDirectory(), 'made', 'by', 'the lock');
    const lock = acquireDataLock(directory, NOW);
    expect(() => acquireDataLock(directory, NOW)).toThrow(
      new RegExp(`in use by another daemon \\(pid ${process.pid} on`),
    );
    lock.release();
    lock.release();
    acquireDataLock(directory, NOW).release();
  });

  it('names a folder that cannot be used, and says what to do', async () => {
    const directory = join(await temporaryDirectory(), 'a-file');
    await writeFile(directory, '');
    const thrown = await waitForDataLock(directory, {
      clock: systemClock,
      signal: new AbortController().signal,
      onWait: () => undefined,
    }).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(DatabaseError);
    expect((thrown as Error).message).toMatch(
      /^the data folder .*a-file cannot be used: EEXIST.*; set data.dir to a folder that the daemon can write to$/,
    );
  });

  it('is free again when its holder is killed', async () => {
    const directory = await temporaryDirectory();
    const script = `const { acquireDataLock } = await import(${JSON.stringify(MODULE)});
      globalThis.lock = acquireDataLock(${JSON.stringify(directory)}, new Date());
      console.log('locked'); setInterval(() => undefined, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    await once(child.stdout, 'data');
    expect(() => acquireDataLock(directory, NOW)).toThrow(new RegExp(`pid ${child.pid} on`));
    child.kill('SIGKILL');
    await once(child, 'exit');
    acquireDataLock(directory, NOW).release();
  });

  it.each([
    ['junk', (path: string) => writeFile(path, Buffer.alloc(4000, 0xe9))],
    ['a folder', (path: string) => mkdir(join(path, 'x'), { recursive: true })],
    ['a named pipe', (path: string) => Promise.resolve(makePipe(path))],
    ['a link to nothing', (path: string) => symlink('/not/there', path)],
  ])('replaces %s in the place of its file', async (_what, make) => {
    const directory = await temporaryDirectory();
    await make(join(directory, 'daemon.lock'));
    const keptAt = join(directory, 'daemon.lock.damaged-2026-01-01T00-00-00.000Z');
    const lock = acquireDataLock(directory, NOW);
    expect(lock.keptAt).toBe(keptAt);
    await lstat(keptAt);
    expect(() => acquireDataLock(directory, NOW)).toThrow(DataLockHeldError);
    lock.release();
    const next = acquireDataLock(directory, NOW);
    expect(next.keptAt).toBeNull();
    next.release();
  });

  it('is held although its file was overwritten', async () => {
    const directory = await temporaryDirectory();
    const lock = acquireDataLock(directory, NOW);
    await writeFile(join(directory, 'daemon.lock'), Buffer.alloc(4000, 0xe9));
    expect(() => acquireDataLock(directory, NOW)).toThrow(DataLockHeldError);
    lock.release();
  });

  it('names its holder in a file, whatever had its place', async () => {
    const directory = await temporaryDirectory();
    makePipe(join(directory, 'daemon.pid'));
    acquireDataLock(directory, NOW).release();
    expect(await readFile(join(directory, 'daemon.pid'), 'utf8')).toContain(String(process.pid));
  });
});

function makePipe(path: string): void {
  execFileSync('mkfifo', [path]);
}
