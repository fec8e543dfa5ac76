import type { TrustedKey } from '../../attestation/keys.ts';
import { verifyEnvelope } from '../../attestation/verify.ts';
import { namedReleases } from '../../domain/verdict/effective-attestation.ts';
import type { AttestationStatement, VerifiedAttestation } from '../../domain/verdict/attestation.ts';
import type { AcceptedOrigin, OriginMemory } from '../../mirror/accept-origin.ts';
import type { SourceState } from '../../mirror/attested-source.ts';
import type { ReleaseKey } from './release-row.ts';
import { allRows, type SqlDatabase } from './sql.ts';
import { statementOfEnvelope } from './attestation-repository.ts';

export interface HeldOrigin extends AcceptedOrigin {
  readonly statement: AttestationStatement;
  readonly cdnHost: string | null;
}

interface NamedRelease extends ReleaseKey {
  readonly snapshot_id: string | null;
}

/**
 * The attestations of the origin that this edge accepted. Those of keys that are no longer trusted are as if they had never been
 * accepted: they support no release, and their version blocks no lower one.
 */
export interface OriginRepository extends OriginMemory {
  held(): HeldOrigin | null;
  record(state: SourceState, verified: VerifiedAttestation): void;
  /** Sets the keys that are trusted from now on. Until it is called, every accepted attestation counts. */
  trust(keys: readonly TrustedKey[]): void;
  /** When the last attestation was signed that names a release, Unix seconds, or `null`. */
  namedAt(release: NamedRelease): number | null;
}

interface OriginRow {
  readonly store_id: string;
  readonly version: number;
  readonly payload_sha256: string;
  readonly issued_at: number;
  readonly envelope: Uint8Array;
  readonly cdn_host: string | null;
}

interface NamingRow {
  readonly key_id: string;
  readonly named_at: number;
}

export function createOriginRepository(database: SqlDatabase): OriginRepository {
  const rowsNewestFirst = database.prepare('SELECT * FROM origin_attestation ORDER BY accepted_order DESC');
  const namings = database.prepare(
    `SELECT key_id, named_at FROM origin_naming
     WHERE channel = :channel AND release_id = :release_id AND snapshot_id = :snapshot_id`,
  );
  const write = createWriter(database);
  let trusted: readonly TrustedKey[] | null = null;
  let cached: readonly OriginRow[] | null = null;
  let held: HeldOrigin | null = null;

  const forget = (): void => {
    cached = null;
    held = null;
  };
  /** The accepted attestations that count, the one accepted last first. There is one of each store, so there are few. */
  const counting = (): readonly OriginRow[] => {
    cached ??= allRows<OriginRow>(rowsNewestFirst, {}).filter(
      ({ envelope }) => trusted === null || verifyEnvelope(Buffer.from(envelope), trusted).ok,
    );
    return cached;
  };
  return {
    of: (storeId) => acceptedOf(counting().find((row) => row.store_id === storeId)),
    last: () => acceptedOf(counting()[0]),
    held: () => {
      held ??= heldOf(counting()[0]);
      return held;
    },
    record: (state, verified) => {
      database.transaction(() => {
        write(state, verified);
      });
      forget();
    },
    trust: (keys) => {
      if (trusted !== null && idsOf(trusted) === idsOf(keys)) return;
      trusted = keys;
      forget();
    },
    namedAt: ({ channel, release_id, snapshot_id }) => {
      const times = allRows<NamingRow>(namings, { channel, release_id, snapshot_id })
        .filter(({ key_id: id }) => trusted?.some(({ keyId }) => keyId === id) !== false)
        .map(({ named_at: at }) => at);
      return times.length === 0 ? null : Math.max(...times);
    },
  };
}

function createWriter(database: SqlDatabase): (state: SourceState, verified: VerifiedAttestation) => void {
  const set = database.prepare(
    `INSERT INTO origin_attestation (store_id, version, payload_sha256, issued_at, envelope, cdn_host, accepted_order)
     VALUES (:store_id, :version, :payload_sha256, :issued_at, :envelope, :cdn_host,
       (SELECT coalesce(max(accepted_order), 0) + 1 FROM origin_attestation))
     ON CONFLICT (store_id) DO UPDATE SET version = excluded.version, payload_sha256 = excluded.payload_sha256,
       issued_at = excluded.issued_at, envelope = excluded.envelope, cdn_host = excluded.cdn_host,
       accepted_order = excluded.accepted_order`,
  );
  const name = database.prepare(
    `INSERT INTO origin_naming (channel, release_id, snapshot_id, key_id, named_at)
     VALUES (:channel, :release_id, :snapshot_id, :key_id, :named_at)
     ON CONFLICT (channel, release_id, snapshot_id, key_id) DO UPDATE SET named_at = max(named_at, excluded.named_at)`,
  );
  const dropUnused = database.prepare(
    `DELETE FROM origin_naming WHERE named_at < :issued_at AND NOT EXISTS (
       SELECT 1 FROM release WHERE release.channel = origin_naming.channel AND release.release_id = origin_naming.release_id)`,
  );
  return ({ envelope, cdnHost }, { statement, payloadSha256, signedBy }) => {
    const { store_id, version, issued_at } = statement;
    set.run({ store_id, version, payload_sha256: payloadSha256, issued_at, envelope, cdn_host: cdnHost });
    for (const { channel, release } of namedReleases(statement)) {
      const { release_id, snapshot_id } = release;
      for (const key_id of signedBy)
        name.run({ channel, release_id, snapshot_id, key_id, named_at: issued_at });
    }
    dropUnused.run({ issued_at });
  };
}

function idsOf(keys: readonly TrustedKey[]): string {
  return keys.map(({ keyId }) => keyId).join(' ');
}

function heldOf(row: OriginRow | undefined): HeldOrigin | null {
  const accepted = acceptedOf(row);
  const statement = row === undefined ? null : statementOfEnvelope(row.envelope);
  if (row === undefined || accepted === null || statement === null) return null;
  return { ...accepted, statement, cdnHost: row.cdn_host };
}

function acceptedOf(row: OriginRow | undefined): AcceptedOrigin | null {
  if (row === undefined) return null;
  const { store_id: storeId, version, issued_at: issuedAt, payload_sha256: payloadSha256 } = row;
  return { storeId, version, issuedAt, payloadSha256 };
}

/**
 * Whether a statement of the origin names a release, as current or retained. A release whose files are damaged at the origin is
 * still named: the damage is that of its disk.
 */
export function isNamedByOrigin(statement: AttestationStatement, release: NamedRelease): boolean {
  return namedReleases(statement).some(
    ({ channel, release: { release_id: id, snapshot_id: snapshot } }) =>
      channel === release.channel && id === release.release_id && snapshot === release.snapshot_id,
  );
}
