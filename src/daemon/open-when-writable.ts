import { describeStorageError, storageFailureOf, type StorageFailure } from './database/storage-failure.ts';
import { DatabaseError } from './database/database-error.ts';
import type { Clock } from '../platform/process/clock.ts';

/** How a start waits. */
export interface Waiting {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /**
   * Called with each new reason to wait.
   *
   * @param failure what the volume refused; without one, the daemon waits for another daemon
   */
  readonly onWait: (reason: string, failure?: StorageFailure) => void;
}

/** Milliseconds between two attempts to open a volume that is full or read-only. */
const VOLUME_RETRY_MS = 3000;

/**
 * Opens something on a volume, as soon as the volume allows it: a daemon that ended instead could not
 * say what it lacks.
 *
 * @param place names the volume, for the reason; a DatabaseError names its file itself
 * @param open is called again after a failure that is waited for
 * @param isPassing whether somebody can end this failure while the daemon runs
 * @throws any other error of `open`; the signal's reason
 */
export async function openWhenWritable<T>(
  place: string,
  open: () => Promise<T>,
  isPassing: (failure: StorageFailure, error: unknown) => boolean,
  { clock, signal, onWait }: Waiting,
): Promise<T> {
  let reason = '';
  for (;;) {
    try {
      return await open();
    } catch (error) {
      const failure = storageFailureOf(error);
      if (failure === null || !isPassing(failure, error)) throw error;
      const next =
        error instanceof DatabaseError
          ? error.message
          : `${place} cannot be used: ${describeStorageError(error)}`;
      if (next !== reason) onWait(next, failure);
      reason = next;
      await clock.sleep(VOLUME_RETRY_MS, signal);
    }
  }
}
