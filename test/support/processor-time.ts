/**
 * Writes the processor time of each test file to the file that SLIPWAY_TEST_TIMES names, for the end of `make test`: wall time depends
 * on what else runs. Only Linux tells that of children; those that outlive the file are missing.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { afterAll, expect } from 'vitest';

const TARGET = process.env['SLIPWAY_TEST_TIMES'];
/** The unit of these times, seconds (proc_pid_stat(5)); every platform that Node supports has this one. */
const TICK_SECONDS = 0.01;

if (TARGET !== undefined && process.platform === 'linux') {
  // The files of some tiers share a process.
  const before = processorSeconds();
  afterAll(() => {
    const { testPath = '' } = expect.getState();
    const spent = processorSeconds() - before;
    appendFileSync(TARGET, `${JSON.stringify({ path: testPath, seconds: Number(spent.toFixed(2)) })}\n`);
  });
}

/** User and system time of this process, and of the children that have ended. */
function processorSeconds(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // The name of the program, in brackets, may have any characters. From the state on: utime, stime, cutime, cstime.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * TICK_SECONDS;
}
