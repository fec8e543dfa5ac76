import { oneRow, type SqlDatabase } from './sql.ts';
import { decodeBase64 } from '../../attestation/dsse.ts';
import { parseEnvelope, parseStatement } from '../../contract/formats/attestation-format.ts';
import type { AttestationStatement } from '../../domain/verdict/attestation.ts';

/** The newest attestation of one store, as stored in the database. Times are Unix seconds. */
export interface StoredAttestation {
  readonly version: number;
  /** Versions up to this one may have been issued; at least `version`. */
  readonly reserved_version: number;
  readonly payload_sha256: string | null;
  readonly envelope: Uint8Array | null;
  readonly issued_at: number | null;
  readonly expires_at: number | null;
}

export interface AttestationRepository {
  get(storeId: string): StoredAttestation | null;
  /** The ids of the stores that this database has attested. One that was only made is not among them. */
  storeIds(): readonly string[];
  set(storeId: string, attestation: Omit<StoredAttestation, 'reserved_version'>): void;
  /** Reserves versions for envelopes that the database may be unable to store later. */
  reserve(storeId: string, upTo: number): void;
}

export function createAttestationRepository(database: SqlDatabase): AttestationRepository {
  const get = database.prepare(
    `SELECT version, reserved_version, payload_sha256, envelope, issued_at, expires_at FROM attestation_state
     WHERE store_id = :store_id`,
  );
  const storeIds = database.prepare(
    'SELECT store_id FROM attestation_state WHERE version > 0 OR reserved_version > 0 ORDER BY store_id',
  );
  const set = database.prepare(
    `INSERT INTO attestation_state (store_id, version, payload_sha256, envelope, issued_at, expires_at)
     VALUES (:store_id, :version, :payload_sha256, :envelope, :issued_at, :expires_at)
     ON CONFLICT (store_id) DO UPDATE SET version = excluded.version, payload_sha256 = excluded.payload_sha256,
       envelope = excluded.envelope, issued_at = excluded.issued_at, expires_at = excluded.expires_at`,
  );
  const reserve = database.prepare(
    `INSERT INTO attestation_state (store_id, version, reserved_version) VALUES (:store_id, 0, :up_to)
     ON CONFLICT (store_id) DO UPDATE SET reserved_version = excluded.reserved_version`,
  );
  return {
    get: (storeId) => oneRow(get, { store_id: storeId }),
    storeIds: () => storeIds.all().map(({ store_id: id }) => String(id)),
    set: (storeId, attestation) => void set.run({ store_id: storeId, ...attestation }),
    reserve: (storeId, upTo) => void reserve.run({ store_id: storeId, up_to: upTo }),
  };
}

/** The statement in an envelope, with any signature; `null` for a damaged envelope. */
export function statementOfEnvelope(bytes: Uint8Array): AttestationStatement | null {
  const envelope = parseEnvelope(Buffer.from(bytes));
  const payload = envelope.ok ? decodeBase64(envelope.value.payload) : null;
  const statement = payload === null ? null : parseStatement(payload);
  return statement?.ok === true ? statement.value : null;
}
