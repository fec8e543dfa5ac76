import type { AttestationStatement, VerifiedAttestation } from '../../../domain/verdict/attestation.ts';
import { authorizedReleases } from '../../../domain/verdict/effective-attestation.ts';
import { CHANNELS } from '../../../domain/release/channel.ts';
import type { AcceptedOrigin, OriginMemory } from '../../../mirror/accept-origin.ts';
import type { SourceState } from '../../../mirror/attested-source.ts';
import type { ReleaseRow } from './release-row.ts';
import { oneRow, type SqlDatabase } from './sql.ts';
import { statementOfEnvelope } from './statement-of-envelope.ts';

/** The state of the origin that was accepted last. */
export interface HeldOrigin extends AcceptedOrigin {
  readonly statement: AttestationStatement;
  readonly cdnHost: string | null;
}

/** The attestations of the origin that this edge accepted. */
export interface OriginRepository extends OriginMemory {
  /** The state accepted last, or `null`. */
  held(): HeldOrigin | null;
  /** Records an accepted state as the last one. */
  record(state: SourceState, verified: VerifiedAttestation): void;
}

interface OriginRow {
  readonly store_id: string;
  readonly version: number;
  readonly payload_sha256: string;
  readonly issued_at: number;
  readonly envelope: Uint8Array;
  readonly cdn_host: string | null;
}

/** Creates the repository over the main database. */
export function createOriginRepository(database: SqlDatabase): OriginRepository {
  const get = database.prepare('SELECT * FROM origin_attestation WHERE store_id = :store_id');
  const last = database.prepare('SELECT * FROM origin_attestation ORDER BY accepted_order DESC LIMIT 1');
  const set = database.prepare(
    `INSERT INTO origin_attestation (store_id, version, payload_sha256, issued_at, envelope, cdn_host, accepted_order)
     VALUES (:store_id, :version, :payload_sha256, :issued_at, :envelope, :cdn_host,
       (SELECT coalesce(max(accepted_order), 0) + 1 FROM origin_attestation))
     ON CONFLICT (store_id) DO UPDATE SET version = excluded.version, payload_sha256 = excluded.payload_sha256,
       issued_at = excluded.issued_at, envelope = excluded.envelope, cdn_host = excluded.cdn_host,
       accepted_order = excluded.accepted_order`,
  );
  let held: HeldOrigin | null = null;
  return {
    of: (storeId) => acceptedOf(oneRow<OriginRow>(get, { store_id: storeId })),
    last: () => acceptedOf(oneRow<OriginRow>(last, {})),
    held: () => {
      if (held !== null) return held;
      const row = oneRow<OriginRow>(last, {});
      const accepted = acceptedOf(row);
      const statement = row === null ? null : statementOfEnvelope(row.envelope);
      if (row === null || accepted === null || statement === null) return null;
      held = { ...accepted, statement, cdnHost: row.cdn_host };
      return held;
    },
    record: ({ envelope, cdnHost }, { statement, payloadSha256 }) => {
      set.run({
        store_id: statement.store_id,
        version: statement.version,
        payload_sha256: payloadSha256,
        issued_at: statement.issued_at,
        envelope,
        cdn_host: cdnHost,
      });
      held = null;
    },
  };
}

function acceptedOf(row: OriginRow | null): AcceptedOrigin | null {
  if (row === null) return null;
  const { store_id: storeId, version, issued_at: issuedAt, payload_sha256: payloadSha256 } = row;
  return { storeId, version, issuedAt, payloadSha256 };
}

/**
 * Whether the origin still names a release, as current or retained. A release whose files are damaged at the origin is still
 * named: the damage is that of its disk.
 */
export function isNamedByOrigin(
  statement: AttestationStatement,
  {
    channel,
    release_id: id,
    snapshot_id: snapshot,
  }: Pick<ReleaseRow, 'channel' | 'release_id' | 'snapshot_id'>,
): boolean {
  const current = CHANNELS.map((each) => ({ channel: each, release: statement[each] }));
  const isCurrent = current.some(
    (one) =>
      one.channel === channel && one.release?.release_id === id && one.release.snapshot_id === snapshot,
  );
  return (
    isCurrent ||
    authorizedReleases(statement).some(
      (release) => release.release_id === id && release.snapshot_id === snapshot,
    )
  );
}
