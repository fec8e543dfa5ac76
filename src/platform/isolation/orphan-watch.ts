import process from 'node:process';
import { workerData } from 'node:worker_threads';
import { BUSY_SINCE, monotonicMs, type WatchedProcess } from './watched-process.ts';

// A thread of an isolated process. When the owner of the process is killed, or only the thread of the owner that
// started it has crashed, a job that never ends would keep the process running: its main thread does not see that the
// channel closed. This thread ends the process instead.

const CHECK_MS = 1000;

const { parent, busy, deadlineMs } = workerData as WatchedProcess;

setInterval(() => {
  const since = Number(Atomics.load(busy, BUSY_SINCE));
  const isOverdue = since > 0 && monotonicMs() - since > deadlineMs;
  if (process.ppid !== parent || isOverdue) process.kill(process.pid, 'SIGKILL');
}, CHECK_MS);
