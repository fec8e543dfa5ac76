import process from 'node:process';
import { Worker } from 'node:worker_threads';

/** What the watching thread knows of its process. */
export interface WatchedProcess {
  /** The process id of the owner. */
  readonly parent: number;
  /** At {@link BUSY_SINCE}: since when the process works without a break, in monotonic milliseconds; 0 while it waits. */
  readonly busy: BigInt64Array<SharedArrayBuffer>;
  /** Longest time of work without a break. */
  readonly deadlineMs: number;
}

/** Tells the watching thread what the main thread does. */
export interface BusyWatch {
  /** Work begins, or goes on after a wait. */
  begin(): void;
  /** Work has ended, or waits for the owner. */
  end(): void;
}

export const BUSY_SINCE = 0;

/** Monotonic milliseconds that all threads of a process share. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
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
