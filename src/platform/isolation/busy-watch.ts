import process from 'node:process';
import { Worker } from 'node:worker_threads';
import { BUSY_SINCE, monotonicMs, type WatchedProcess } from './watched-process.ts';

interface BusyWatch {
  /** Work begins, or continues after a wait. */
  begin(): void;
  /** Work has ended, or waits for the owner. */
  end(): void;
}

/**
 * Starts the thread that ends this process when its owner is gone, or when it works too long without a break: then nobody
 * is there to end it.
 *
 * @param deadlineMs more than the time after which the owner ends the process itself
 */
export function startBusyWatch(deadlineMs: number): BusyWatch {
  const busy = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT));
  const workerData: WatchedProcess = { parent: process.ppid, busy, deadlineMs };
  new Worker(new URL('./orphan-watch.ts', import.meta.url), { workerData, execArgv: [] }).unref();
  const set = (since: number): void => {
    Atomics.store(busy, BUSY_SINCE, BigInt(since));
  };
  return {
    begin: () => set(monotonicMs()),
    end: () => set(0),
  };
}
