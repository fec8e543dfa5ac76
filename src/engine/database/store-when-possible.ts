import { createLoop } from '../../platform/process/loop.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { describeStorageError, storageFailureOf } from './storage-failure.ts';

/** Milliseconds between two attempts. */
const RETRY_MS = 10_000;

/**
 * Runs a step that writes to the database. A full or read-only database is logged and does not stop the caller.
 *
 * @param what completes "... could not be stored", for the log
 * @returns whether it succeeded
 * @throws any other error of the step
 */
export function tryToStore(step: () => void, what: string, logger: Logger): boolean {
  try {
    step();
    return true;
  } catch (error) {
    if (storageFailureOf(error) === null) throw error;
    logger.error(`${what} could not be stored: ${describeStorageError(error)}`);
    return false;
  }
}

/** Settings and collaborators of {@link storeWhenPossible}. */
interface StoreWhenPossibleOptions {
  /** Runs again after a failure, so it must be safe to repeat. */
  readonly step: () => void;
  /** Completes "... could not be stored", for the log. */
  readonly what: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Runs a step that writes to the database now, and again until it succeeds when the database is full or read-only.
 *
 * @returns ends the attempts
 * @throws any other error of the first attempt
 */
export function storeWhenPossible({
  step,
  what,
  clock,
  logger,
}: StoreWhenPossibleOptions): () => Promise<void> {
  if (tryToStore(step, what, logger)) return () => Promise.resolve();
  const loop = createLoop({
    clock,
    firstWaitMs: RETRY_MS,
    turn: () => {
      step();
      return Infinity;
    },
    onFailure: (error) => {
      if (storageFailureOf(error) === null) logger.error({ err: error }, `${what} could not be stored`);
      return RETRY_MS;
    },
  });
  loop.start();
  return async () => {
    await loop.stop();
  };
}
