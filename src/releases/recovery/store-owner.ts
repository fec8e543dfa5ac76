import type { SnapshotWriter } from '../../snapshot/snapshot-writer.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import { trustedKeysOf, type SigningKey } from '../../attestation/keys.ts';
import { verifyEnvelope } from '../../attestation/verify.ts';
import { readCurrentAttestation } from '../../snapshot/volume/attestation-files.ts';
import { checkStore, isFormatLost } from '../../snapshot/volume/snapshot-store.ts';
import { createAttestationRepository, statementOfEnvelope } from '../records/attestation-repository.ts';
import type { SqlDatabase } from '../records/sql.ts';

export const FORMAT_RESTORED =
  'FORMAT of the snapshot volume was lost or damaged and is written again: the newest envelope proves whose store it is';

/**
 * Finds the id of a store that has lost FORMAT. The proof is the envelope on the volume: it is signed with a key of this
 * daemon and names a store that the database has attested.
 *
 * @returns `null` when FORMAT is there, or nothing proves whose store it is
 * @throws the file system error
 */
export async function findLostStore(
  root: string,
  { database, signingKeys }: { readonly database: SqlDatabase; readonly signingKeys: readonly SigningKey[] },
): Promise<string | null> {
  if (!(await isFormatLost(root))) return null;
  const envelope = await readCurrentAttestation(root);
  const verified = envelope === null ? null : verifyEnvelope(envelope, trustedKeysOf(signingKeys));
  if (verified === null || !verified.ok) return null;
  const { store_id: storeId } = verified.value.statement;
  return createAttestationRepository(database).get(storeId) === null ? null : storeId;
}

/** Writes FORMAT again when it is lost and the volume is provably the store of this daemon. */
export async function restoreLostFormat(
  {
    root,
    database,
    writer,
    logger,
  }: {
    readonly root: string;
    readonly database: SqlDatabase;
    readonly writer: SnapshotWriter;
    readonly logger: Logger;
  },
  signingKeys: readonly SigningKey[],
): Promise<void> {
  if ((await findLostStore(root, { database, signingKeys })) !== writer.storeId) return;
  await writer.restoreFormat();
  logger.error({ store_id: writer.storeId }, FORMAT_RESTORED);
}

/** The store belongs to another daemon: one with other keys, or with another data folder that made it. */
export class ForeignStoreError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ForeignStoreError';
  }
}

interface StoreOwner {
  readonly database: SqlDatabase;
  readonly signingKeys: readonly SigningKey[];
  readonly dataFolder: string;
}

const ADOPT = 'start once with --adopt-store to take the store over';

/**
 * Refuses a store of another daemon. A store that the database has written to is this daemon's, whichever key it signed with then,
 * unless another key has signed a later version for it. A data folder that has written to other stores alone is not that of this
 * store. An empty data folder takes the store that its keys attested: the folder was lost.
 *
 * @param root the folder of the store
 * @throws ForeignStoreError; StoreFormatError; the file system error
 */
export async function refuseForeignStore(root: string, owner: StoreOwner): Promise<void> {
  const format = await checkStore(root);
  if (format === null) return;
  const { store_id: storeId } = format;
  const attestations = createAttestationRepository(owner.database);
  const own = attestations.get(storeId);
  const envelope = await readCurrentAttestation(root);
  const statement = envelope === null ? null : statementOfEnvelope(envelope);
  const verified = envelope === null ? null : verifyEnvelope(envelope, trustedKeysOf(owner.signingKeys));
  if (own === null) {
    const [earlier] = attestations.storeIds();
    if (earlier !== undefined) {
      throw new ForeignStoreError(
        `the snapshot volume holds the store ${storeId}, but the data folder ${owner.dataFolder} belongs to the store ${earlier}; nothing was written: correct snapshot.root or data.dir, or ${ADOPT}`,
      );
    }
    if (statement !== null && statement.store_id !== storeId) {
      throw new ForeignStoreError(
        `the snapshot volume holds the store ${storeId}, but its attestation is for the store ${statement.store_id}: another daemon has written to it; nothing was written: start the daemon with the data folder of the store ${storeId}, or ${ADOPT}`,
      );
    }
  }
  // A damaged envelope says nothing about its signer, and one of another store nothing about this one. The recovery replaces it.
  if (verified === null || verified.ok || statement === null || statement.store_id !== storeId) return;
  if (own !== null && statement.version <= own.version) return;
  throw new ForeignStoreError(
    `the store ${storeId} was attested by a daemon with other keys (${verified.error.message}), and the data folder ${owner.dataFolder} does not know that; nothing was written: check snapshot.root and attestation.signingKeyFiles, or ${ADOPT}`,
  );
}
