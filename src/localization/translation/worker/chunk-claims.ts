import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import type { Lease } from '../work/leases/chunk-leases.ts';
import type { ChunkPlace, ClaimRequest } from '../work/leases/free-chunks.ts';
import type { TranslationThread } from '../work/translation-worker.ts';
import type { RunSettings } from './run-world.ts';

/** Gives the chunks of a run: each once, and again those that are to be retried. */
export interface ChunkClaims {
  /**
   * Leases the next chunk; waits when all that is left is to be retried soon.
   *
   * @returns `null` when the run has nothing more to do
   * @throws the reason of the signal
   */
  next(signal: AbortSignal): Promise<Lease | null>;
  /** Says that a chunk can be retried. @param at Unix seconds */
  retry(place: ChunkPlace, at: number): void;
  /** Gives no more chunks. */
  close(): void;
}

interface ClaimOptions {
  readonly thread: TranslationThread;
  readonly clock: Clock;
  readonly settings: RunSettings;
}

/** Longest wait for a retry; a chunk that is due later is left to the next run. */
const LONGEST_WAIT_SECONDS = 600;
const POLL_MS = 1000;

/** Creates the claims of a run. */
export function createChunkClaims({ thread, clock, settings }: ClaimOptions): ChunkClaims {
  const retries: { readonly place: ChunkPlace; readonly at: number }[] = [];
  const order = createChunkOrder(settings);
  let isPassed = false;
  let isClosed = false;
  let turn: Promise<unknown> = Promise.resolve();

  const claimFirst = async (): Promise<Lease | null> => {
    if (isPassed) return null;
    const lease = await thread.claimChunk(order.next());
    isPassed = lease === null;
    if (lease !== null) order.passed(lease);
    return lease;
  };

  const claimRetry = async (): Promise<Lease | null> => {
    const now = unixSeconds(clock);
    for (;;) {
      const index = retries.findIndex(({ at }) => at <= now);
      const due = retries[index];
      if (due === undefined) return null;
      retries.splice(index, 1);
      const lease = await thread.claimChunk({
        ...order.next(),
        after: null,
        untilTask: null,
        place: due.place,
      });
      if (lease !== null) return lease;
    }
  };

  /** One claim at a time, so that the chunks come in order and no task is begun beyond the limit. */
  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(work);
    turn = mine.catch(() => undefined);
    return await mine;
  };

  return {
    next: async (signal) => {
      for (;;) {
        signal.throwIfAborted();
        if (isClosed) return null;
        const lease = await inTurn(async () => (await claimFirst()) ?? (await claimRetry()));
        if (lease !== null) return lease;
        if (retries.length === 0) return null;
        const wait =
          retries.reduce((first, { at }) => Math.min(first, at), Number.POSITIVE_INFINITY) * 1000 -
          clock.now();
        await clock.sleep(Math.max(1, Math.min(wait, POLL_MS)), signal);
      }
    },
    retry: (place, at) => {
      if (at - unixSeconds(clock) <= LONGEST_WAIT_SECONDS) retries.push({ place, at });
    },
    close: () => {
      isClosed = true;
    },
  };
}

/** Goes through the chunks of a run once, in the order of work, and begins no more tasks than the run may. */
interface ChunkOrder {
  /** The request for the first chunk after the last one that was passed. */
  next(): ClaimRequest;
  /** Says which chunk answered the last request. */
  passed(place: ChunkPlace): void;
}

/** Creates the order of one run. */
export function createChunkOrder({
  owner,
  leaseSeconds,
  maxAttempts,
  taskId,
  maxTasks,
}: RunSettings): ChunkOrder {
  let after: ChunkPlace | null = null;
  let tasks = 0;
  return {
    next: () => {
      // Chunks come in the order of their tasks, so that the task of the last one is the last task that was begun.
      const untilTask = after !== null && tasks >= maxTasks ? after.taskSeq : null;
      return { owner, leaseSeconds, maxAttempts, taskId, after, untilTask };
    },
    passed: ({ taskSeq, number }) => {
      if (after?.taskSeq !== taskSeq) tasks += 1;
      after = { taskSeq, number };
    },
  };
}
