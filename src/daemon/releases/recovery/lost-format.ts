import { trustedKeysOf, type SigningKey } from '../../../attestation/keys.ts';
import { verifyEnvelope } from '../../../attestation/verify.ts';
import { readCurrentAttestation } from '../../../snapshot/volume/attestation-files.ts';
import { isFormatLost } from '../../../snapshot/volume/snapshot-store.ts';
import { createAttestationRepository } from '../records/attestation-repository.ts';
import type { SqlDatabase } from '../records/sql.ts';

/** The log line of a FORMAT that was written again. */
export const FORMAT_RESTORED =
  'FORMAT of the snapshot volume was lost or damaged and is written again: the newest envelope proves whose store it is';

/**
 * Finds the id of a store that has lost FORMAT. The proof is the envelope on the volume: it is signed with a key of this
 * daemon and names a store that the database has attested.
 *
 * @returns `null` when FORMAT is there, or nothing proves whose store it is
 * @throws the file system error
 */
export async function findLostStore({
  database,
  root,
  signingKeys,
}: {
  readonly database: SqlDatabase;
  readonly root: string;
  readonly signingKeys: readonly SigningKey[];
}): Promise<string | null> {
  if (!(await isFormatLost(root))) return null;
  const envelope = await readCurrentAttestation(root);
  const verified = envelope === null ? null : verifyEnvelope(envelope, trustedKeysOf(signingKeys));
  if (verified === null || !verified.ok) return null;
  const { store_id: storeId } = verified.value.statement;
  return createAttestationRepository(database).get(storeId) === null ? null : storeId;
}
