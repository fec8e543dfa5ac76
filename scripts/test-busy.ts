/**
 * Runs tiers of tests on a machine that is busy, because a test that passes only on a calm one is flaky: first beside four
 * programs that compute without a pause, then with half of one processor.
 *
 *   node scripts/test-busy.ts [STAGE ...]
 *
 * Default `unit integration`. Ends with `N passed, N failed` of each of the two runs; the exit code is 1 when one of them failed.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import process from 'node:process';
import { execute } from './test/execute.ts';

const BUSY_PROGRAMS = 4;
/** Processor 0 alone, for commands that are to share it. */
const ON_ONE_PROCESSOR = ['taskset', '-c', '0'] as const;

/** Computes until its parent is gone. */
const COMPUTE = `while (process.ppid === ${process.pid});`;

/** Runs a command while programs compute; they are ended by their process ids. */
async function runBeside(
  programs: number,
  prefix: readonly string[],
  command: readonly string[],
): Promise<number> {
  const busy: ChildProcess[] = [];
  try {
    for (let started = 0; started < programs; started += 1) {
      const [program, ...args] = [...prefix, process.execPath, '-e', COMPUTE];
      busy.push(spawn(program, args, { stdio: 'ignore' }));
    }
    const [program = '', ...args] = [...prefix, ...command];
    return (await execute(program, args)).code;
  } finally {
    for (const child of busy) child.kill('SIGKILL');
  }
}

const wanted = process.argv.slice(2);
const stages = wanted.length === 0 ? ['unit', 'integration'] : wanted;
const tests = [process.execPath, 'scripts/test.ts', ...stages];
console.log(`\n== ${stages.join(' and ')} beside ${BUSY_PROGRAMS} busy programs`);
const beside = await runBeside(BUSY_PROGRAMS, [], tests);
console.log(`\n== ${stages.join(' and ')} with half of a processor`);
// With one processor vitest has one worker, which gets as much of it as the one busy program.
const half = await runBeside(1, ON_ONE_PROCESSOR, tests);
process.exitCode = beside === 0 && half === 0 ? 0 : 1;
