import process from 'node:process';

/** The facts that the watching thread has of its process. */
export interface WatchedProcess {
  /** The process id of the owner. */
  readonly parent: number;
  /** At {@link BUSY_SINCE}: since when the process works without a break, in monotonic milliseconds; 0 while it waits. */
  readonly busy: BigInt64Array<SharedArrayBuffer>;
  /** Longest time of work without a break. */
  readonly deadlineMs: number;
}

/** The position of {@link WatchedProcess.busy}. */
export const BUSY_SINCE = 0;

/** Monotonic milliseconds that all threads of a process share. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
