import { join } from 'node:path';
import type { DaemonBase } from './daemon-base.ts';
import { waitForDataLock } from './database/data-lock.ts';
import { DATA_FULL } from './database/storage-failure.ts';
import { openMainDatabase, type MainDatabase } from './database/main-database.ts';
import { hasHandedOver } from './handover/handed-over.ts';
import { createHandoverRequest, createHandoverWatch, HANDOVER_PAUSE_MS } from './handover/handover.ts';
import { openWhenWritable, type Waiting } from './open-when-writable.ts';
import { EXIT_HANDED_OVER } from './supervisor/supervision.ts';

/** The parts of a start that do not depend on the data folder. */
export type SharedParts = Pick<DaemonBase, 'configuration' | 'options' | 'settings' | 'closers'>;

/**
 * Waits until no other process uses the data folder and its volume is not full, and opens the database. From then on, a daemon with a supervisor
 * hands the folder over to one that waits for it, while it has nothing to serve.
 *
 * @param serves whether the daemon has something to serve
 * @param openMain opens the main database
 * @throws DatabaseError; the reason of the signal of `waiting`
 */
export async function openDataFolder(
  { configuration, options, closers }: SharedParts,
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
  const { database, rebuilt } = await whenNotFull(
    async () => await openMain(join(dir, 'main.db'), { clock, logger, signal: waiting.signal }),
  );
  closers.add('database', () => database.close());
  // Not before: the check of a large database takes minutes, and the next daemon would begin it again.
  if (supervision !== null) {
    const watch = createHandoverWatch({
      directory: dir,
      clock,
      canServe: serves,
      onHandover: () => {
        options.requestShutdown(
          'a daemon that waits takes over, as this one has nothing to serve',
          EXIT_HANDED_OVER,
        );
      },
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
