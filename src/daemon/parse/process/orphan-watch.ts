import process from 'node:process';
import { workerData } from 'node:worker_threads';

// A thread of the process that parses. When the owner of the process is killed, a container that never ends would keep the
// process running: its main thread does not see that the channel closed. This thread ends the process instead.

const CHECK_MS = 1000;

setInterval(() => {
  if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL');
}, CHECK_MS);
