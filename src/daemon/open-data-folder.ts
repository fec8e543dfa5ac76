import { join } from 'node:path';
import type { DaemonParts } from './daemon-parts.ts';
import { waitForDataLock } from '../engine/database/data-lock.ts';
import {
  DATA_FULL,
  describeStorageError,
  storageFailureOf,
  type StorageFailure,
} from '../engine/database/storage-failure.ts';
import { openMainDatabase, type MainDatabase } from '../engine/database/main-database.ts';
import { hasHandedOver } from './handover/handed-over.ts';
import { HANDOVER_PAUSE_MS, createHandoverRequest, createHandoverWatch } from './handover/handover.ts';
import { EXIT_HANDED_OVER } from './supervisor/supervision.ts';
import { DatabaseError } from '../engine/database/database-error.ts';
import type { Clock } from '../platform/process/clock.ts';

/** Exit code of a daemon that found its database damaged: a supervisor starts it again, and it replaces the database. */
const EXIT_DATABASE_DAMAGED = 1;

/**
 * Waits until no other process uses the data folder and its volume is not full, and opens the database. From then on, a daemon with a supervisor
 * hands the folder over to one that waits for it, while it has nothing to serve.
 *
 * @param serves whether the daemon has something to serve
 * @param openMain opens the main database
 * @throws DatabaseError; the reason of the signal of `waiting`
 */
export async function openDataFolder(
  { configuration, options, closers }: DaemonParts,
  waiting: Waiting,
  serves: () => boolean,
  openMain: typeof openMainDatabase = openMainDatabase,
): Promise<MainDatabase> {
  const { dir } = configuration.data;
  const { supervision, bootId, clock, logger } = options;
  const handedOver = hasHandedOver(supervision);
  if (handedOver) {
    waiting.onWait('it handed the data folder over to a daemon that waited for it');
    await clock.sleep(HANDOVER_PAUSE_MS, waiting.signal);
  }
  // Two daemons with nothing to serve would otherwise take the folder from each other forever.
  const onTurn = supervision === null || handedOver ? undefined : createHandoverRequest(dir, bootId);
  // SQLite writes before it locks or reads, so that a full volume refuses even what changes nothing.
  const whenNotFull = async <T>(open: () => Promise<T>): Promise<T> =>
    await openWhenWritable(`the data folder ${dir}`, open, ({ code }) => code === DATA_FULL.code, waiting);
  const lock = await whenNotFull(async () => await waitForDataLock(dir, { ...waiting, onTurn }));
  closers.add('data lock', () => lock.release());
  if (lock.keptAt !== null) {
    options.logger.error({ kept_at: lock.keptAt }, 'the lock of the data folder was damaged and is replaced');
  }
  waiting.signal.throwIfAborted();
  const restart = (reason: string): void => {
    options.requestShutdown(reason, EXIT_DATABASE_DAMAGED);
  };
  const { database, rebuilt } = await whenNotFull(
    async () => await openMain(join(dir, 'main.db'), { clock, logger, signal: waiting.signal, restart }),
  );
  closers.add('database', () => database.close());
  // Not before: the check of a large database takes minutes, and the next daemon would begin it again.
  if (supervision !== null) {
    const watch = createHandoverWatch({
      directory: dir,
      clock,
      canServe: serves,
      onHandover: () =>
        options.requestShutdown(
          'a daemon that waits takes over, as this one has nothing to serve',
          EXIT_HANDED_OVER,
        ),
    });
    closers.add('handover', async () => await watch.stop());
    watch.start();
  }
  if (rebuilt !== null) {
    options.logger.error(
      { finding: rebuilt.finding, kept_at: rebuilt.keptAt },
      'the database is damaged; the file is kept aside, and an empty database is filled from the snapshot volume',
    );
  }
  return { database, rebuilt };
}

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
 * Opens something on a volume, as soon as the volume allows it. A daemon that ended instead could not report
 * what it lacks.
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
