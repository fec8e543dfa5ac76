import type { SigningKey } from '../../../attestation/keys.ts';
import { trustedKeysOf } from '../../../attestation/keys.ts';
import { verifyEnvelope } from '../../../attestation/verify.ts';
import { readCurrentAttestation } from '../../../snapshot/volume/attestation-files.ts';
import { checkStore } from '../../../snapshot/volume/snapshot-store.ts';
import { createAttestationRepository } from '../records/attestation-repository.ts';
import { statementOfEnvelope } from '../records/statement-of-envelope.ts';
import type { SqlDatabase } from '../records/sql.ts';

/** The store belongs to a daemon with other keys. */
export class ForeignStoreError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ForeignStoreError';
  }
}

/**
 * Refuses a store that was attested with none of these keys. A store that the database has attested up to the same or a
 * later version is this daemon's, whichever key it signed with then.
 *
 * @throws ForeignStoreError; StoreFormatError; the file system error
 */
export async function refuseForeignStore({
  database,
  root,
  signingKeys,
}: {
  readonly database: SqlDatabase;
  readonly root: string;
  readonly signingKeys: readonly SigningKey[];
}): Promise<void> {
  const format = await checkStore(root);
  const envelope = format === null ? null : await readCurrentAttestation(root);
  if (format === null || envelope === null) return;
  const verified = verifyEnvelope(envelope, trustedKeysOf(signingKeys));
  if (verified.ok) return;
  const statement = statementOfEnvelope(envelope);
  // A damaged envelope says nothing about its signer. The recovery replaces it.
  if (statement === null) return;
  const own = createAttestationRepository(database).get(format.store_id);
  if (own !== null && statement.version <= own.version) return;
  throw new ForeignStoreError(
    `the store ${statement.store_id} was attested by a daemon with other keys (${verified.error.message}); check snapshot.root and attestation.signingKeyFiles, or start once with --adopt-store to take the store over`,
  );
}
