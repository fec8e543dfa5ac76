import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { isMainThread, workerData } from 'node:worker_threads';
import { BUSY_SINCE, monotonicMs, type WatchedProcess } from './watched-process.ts';

// A thread of an isolated process. When the owner of the process is killed, or only the thread of the owner that
// started it has crashed, a job that never ends would keep the process running: its main thread does not see that the
// channel closed. This thread ends the process instead.

const CHECK_MS = 1000;

// The main thread of `cmd/compile-modules.ts` also loads this module, only to have it compiled.
if (!isMainThread) watch(workerData as WatchedProcess);

function watch({ parent, busy, deadlineMs }: WatchedProcess): void {
  // The process is killed, and then this thread saves nothing.
  flushCompileCache();
  setInterval(() => {
    const since = Number(Atomics.load(busy, BUSY_SINCE));
    const isOverdue = since > 0 && monotonicMs() - since > deadlineMs;
    if (process.ppid !== parent || isOverdue) process.kill(process.pid, 'SIGKILL');
  }, CHECK_MS);
}
