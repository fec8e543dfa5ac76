import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const MODULE = new URL('../../../../src/platform/isolation/busy-watch.ts', import.meta.url);

/** Runs a program that has a watch with a short deadline; gives how it ended. */
async function run(program: string): Promise<unknown[]> {
  const path = join(await temporaryDirectory(), 'program.mjs');
  await writeFile(
    path,
    `import { startBusyWatch } from '${MODULE.href}';\nconst busy = startBusyWatch(1500);\n${program}`,
  );
  const child = fork(path, [], { stdio: 'ignore' });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return await once(child, 'exit');
}

describe('the watch of an isolated process', () => {
  it('ends a process whose owner lives but does not end it', async () => {
    expect(await run('busy.begin(); for (;;);')).toEqual([null, 'SIGKILL']);
  });

  it('leaves a process alone that waits, or that works with breaks', async () => {
    const program = `busy.begin(); busy.end(); let rounds = 0;
      const timer = setInterval(() => { rounds += 1; busy.begin(); if (rounds === 6) process.exit(7); }, 500);`;
    expect(await run(program)).toEqual([7, null]);
  });
});
