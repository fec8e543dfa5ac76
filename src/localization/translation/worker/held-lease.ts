import type { Clock } from '../../../platform/process/clock.ts';
import type { Lease } from '../work/leases/chunk-leases.ts';
import type { TranslationThread } from '../work/translation-worker.ts';

/** A lease was lost: another worker may have the chunk, and nothing more is written. */
export class LeaseLostError extends Error {
  constructor() {
    super('the lease on the chunk was lost');
    this.name = 'LeaseLostError';
  }
}

interface HeldLease {
  /** Aborted with a LeaseLostError when the lease is lost. */
  readonly lost: AbortSignal;
  /** Ends the heartbeats; the lease itself stays until it is ended or expires. */
  stop(): Promise<void>;
}

interface HoldOptions {
  readonly thread: TranslationThread;
  readonly clock: Clock;
  readonly leaseSeconds: number;
}

/** Keeps a lease alive: extends it three times within its length. */
export function holdLease({ token }: Lease, { thread, clock, leaseSeconds }: HoldOptions): HeldLease {
  const lost = new AbortController();
  const ended = new AbortController();
  const pause = (leaseSeconds * 1000) / 3;
  const beat = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      await clock.sleep(pause, ended.signal);
      if (!(await thread.heartbeat({ token, leaseSeconds }))) throw new LeaseLostError();
    }
  };
  const beating = beat().catch((error: unknown) => {
    if (!ended.signal.aborted) lost.abort(error);
  });
  return {
    lost: lost.signal,
    stop: async () => {
      ended.abort();
      await beating;
    },
  };
}
