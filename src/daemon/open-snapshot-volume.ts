import { randomUUID } from 'node:crypto';
import { openFencedWriter } from '../snapshot/fenced-writer.ts';
import { StoreLeaseLostError } from '../snapshot/volume/lease-errors.ts';
import { checkStore, restoreFormat } from '../snapshot/volume/snapshot-store.ts';
import { acquireStoreLease, type StoreLease } from '../snapshot/volume/store-lease.ts';
import { StoreRoot } from '../snapshot/volume/store-root.ts';
import type { SnapshotWriter } from '../snapshot/snapshot-writer.ts';
import { readDataIdentity } from '../engine/database/data-identity.ts';
import type { Database } from '../engine/database/sqlite-database.ts';
import type { DaemonParts } from './daemon-parts.ts';
import { openWhenWritable, type Waiting } from './open-data-folder.ts';
import { createAttestationRepository } from '../releases/records/attestation-repository.ts';
import { findLostStore, FORMAT_RESTORED, refuseForeignStore } from '../releases/recovery/store-owner.ts';

/** Exit code of a daemon that another one has replaced: a supervisor starts it again, as a standby. */
const EXIT_LEASE_LOST = 1;
/** The log line of a system where nothing holds the folder of the volume. */
const NOT_PINNED =
  'this system has no /proc: the store is compared before each write to the snapshot volume, but not held';
/** The log line of an empty volume under a data folder that has written to another one. */
const EMPTY_VOLUME =
  'the snapshot volume is empty, so a new store is made and the releases of the earlier one are withdrawn until they are synced again; if the volume is only not mounted, stop the daemon and mount it';

/** The root of the snapshot volume, and the right to write below it. */
interface WritableVolume {
  readonly volume: StoreRoot;
  readonly lease: StoreLease;
}

/**
 * Waits until no other daemon writes to the snapshot volume.
 *
 * @throws ForeignStoreError, StoreFormatError; the reason of the signal of `waiting`
 */
export async function becomeWriter(
  { configuration, options, closers }: DaemonParts,
  database: Database,
  waiting: Waiting,
): Promise<WritableVolume> {
  const { data, snapshot } = configuration;
  const { signingKeys, logger } = options;
  const owner = { database, signingKeys, dataFolder: data.dir };
  const refuse = async (folder: string): Promise<void> => {
    if ((await findLostStore(folder, owner)) !== null) return;
    if (snapshot.adopt) await checkStore(folder);
    else await refuseForeignStore(folder, owner);
  };
  // Before the lease, so that a daemon with a wrong root changes nothing in the store of another.
  const volume = await openWhenWritable(
    `the snapshot volume ${snapshot.root}`,
    async () => await StoreRoot.open(snapshot.root, refuse),
    () => true,
    waiting,
  );
  closers.add('snapshot volume', async () => await volume.close());
  if (!volume.isPinned) logger.warn(NOT_PINNED);
  const lease = await acquireStoreLease({
    ...waiting,
    volume,
    holder: await readDataIdentity(data.dir, logger, new Date(options.clock.now())),
    logger,
    onLost: (error) => {
      logger.fatal({ err: error }, error.message);
      options.requestShutdown('the lease of the snapshot volume was lost', EXIT_LEASE_LOST);
    },
  });
  closers.add('store lease', async () => await lease.release());
  const lost = await findLostStore(volume.folder, owner);
  if (lost !== null) {
    await lease.confirm();
    await restoreFormat(volume.folder, lost);
    logger.error({ store_id: lost }, FORMAT_RESTORED);
  }
  // The store may have changed during the wait.
  await refuse(volume.folder);
  return { volume, lease };
}

/**
 * Opens the snapshot volume, as soon as it can be written where a new store is made.
 *
 * @throws StoreFormatError, StoreLeaseLostError; the reason of the signal of `waiting`
 */
export async function openVolume(
  { configuration, options }: DaemonParts,
  database: Database,
  { volume, lease }: WritableVolume,
  waiting: Waiting,
): Promise<SnapshotWriter> {
  const { clock, failpoints, logger } = options;
  const attestations = createAttestationRepository(database);
  const storeId = randomUUID();
  const newStoreId = (): string => {
    // Before FORMAT: a store that the database does not know is that of another daemon.
    attestations.reserve(storeId, 0);
    const earlier = attestations.storeIds();
    if (earlier.length > 0) logger.error({ store_id: storeId, earlier_stores: earlier }, EMPTY_VOLUME);
    return storeId;
  };
  let hasWaited = false;
  return await openWhenWritable(
    `the snapshot volume ${configuration.snapshot.root}`,
    async () => {
      if (hasWaited) await lease.confirm();
      hasWaited = true;
      return await openFencedWriter({ clock, failpoints, root: volume, newStoreId }, lease);
    },
    (_failure, error) => !(error instanceof StoreLeaseLostError),
    waiting,
  );
}
