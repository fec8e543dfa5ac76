import type { Channel } from '../../../domain/release/channel.ts';
import type { Blake3Hex, SnapshotId } from '../../../domain/release/digest.ts';
import type { ReleaseId } from '../../../domain/release/release-id.ts';
import { isKept, type ReleaseRow, type ReleaseState } from './release-row.ts';
import { allRows, oneRow, type SqlDatabase, type SqlValue } from './sql.ts';

/** Which release of a channel is current, since when (Unix seconds). */
export interface CurrentRelease {
  readonly channel: Channel;
  readonly release_id: ReleaseId;
  readonly since: number;
}

/** How an entry of a release was found. */
export type DamageStatus = 'missing' | 'size_mismatch' | 'digest_mismatch' | 'unreadable';

/** An entry of a release that was found damaged. `found_at` is in Unix seconds. */
export interface DamagedEntry {
  readonly channel: Channel;
  readonly release_id: ReleaseId;
  readonly destination: string;
  readonly blake3: Blake3Hex;
  readonly status: DamageStatus;
  readonly found_at: number;
}

/** What can change of a release. */
export type ReleaseChange = Partial<Omit<ReleaseRow, 'channel' | 'release_id'>>;

/** Releases, the pointer to the current one of each channel, and their damage. Single statements; callers group them. */
export interface ReleaseRepository {
  get(channel: Channel, releaseId: string): ReleaseRow | null;
  /** Whoever has this name, in any channel and state. */
  named(releaseId: string): ReleaseRow | null;
  insert(release: ReleaseRow): void;
  update(channel: Channel, releaseId: string, change: ReleaseChange): void;
  /** Newest first. */
  list(channel: Channel | null, limit: number): readonly ReleaseRow[];
  count(channel: Channel | null): number;
  /** Every release that has a manifest and objects, newest first. */
  kept(): readonly ReleaseRow[];
  /** Releases whose making was broken off and that still hold a catalog. */
  unfinished(): readonly ReleaseRow[];
  current(channel: Channel): ReleaseRow | null;
  pointer(channel: Channel): CurrentRelease | null;
  setPointer(channel: Channel, releaseId: string, since: number): void;
  /** Kept releases that hold an object. */
  holders(blake3: Blake3Hex): readonly ReleaseRow[];
  /** Destinations under which a release holds an object, at most `limit`. */
  destinationsOf(release: ReleaseRow, blake3: Blake3Hex, limit: number): readonly string[];
  /** Whether anything refers to an object: an entry of any catalog, or a server-info document. */
  isReferenced(blake3: Blake3Hex): boolean;
  /** Whether a release that is not deleted has this manifest. */
  hasSnapshot(snapshotId: SnapshotId): boolean;
  addDamage(entry: DamagedEntry): void;
  clearDamage(channel: Channel, releaseId: string): void;
  damageOf(channel: Channel, releaseId: string, limit: number): readonly DamagedEntry[];
  damageCount(channel: Channel, releaseId: string): number;
}

const COLUMNS = [
  'upstream_release_id',
  'state',
  'base_release_id',
  'revision_id',
  'content_digest',
  'snapshot_id',
  'manifest_sha256',
  'entry_count',
  'total_bytes',
  'app_version',
  'server_info_blake3',
  'server_info_size',
  'created_at',
  'published_at',
  'superseded_at',
  'verified_at',
  'checked_at',
  'damaged_at',
  'damage_message',
  'stale_since',
  'deleted_at',
  'pinned',
] as const satisfies readonly (keyof ReleaseChange)[];

/** Most releases that are ever looked through at once; far more than any retention keeps. */
const LIST_MAX = 10_000;

type StoredRelease = Omit<ReleaseRow, 'pinned'> & { readonly pinned: number };

/** Creates the repository over the main database. */
export function createReleaseRepository(database: SqlDatabase): ReleaseRepository {
  const select = 'SELECT r.* FROM release r';
  const get = database.prepare(`${select} WHERE channel = :channel AND release_id = :release_id`);
  const named = database.prepare(`${select} WHERE release_id = :release_id LIMIT 1`);
  const insert = database.prepare(
    `INSERT INTO release (channel, release_id, ${COLUMNS.join(', ')})
     VALUES (:channel, :release_id, ${COLUMNS.map((column) => `:${column}`).join(', ')})`,
  );
  const list = database.prepare(
    `${select} WHERE :channel IS NULL OR channel = :channel
     ORDER BY created_at DESC, channel DESC, release_id DESC LIMIT :limit`,
  );
  const count = database.prepare(
    'SELECT count(*) AS count FROM release WHERE :channel IS NULL OR channel = :channel',
  );
  const current = database.prepare(
    `${select} JOIN current_release c ON c.channel = r.channel AND c.release_id = r.release_id
     WHERE c.channel = :channel`,
  );
  const pointer = database.prepare('SELECT * FROM current_release WHERE channel = :channel');
  const setPointer = database.prepare(
    `INSERT INTO current_release (channel, release_id, since) VALUES (:channel, :release_id, :since)
     ON CONFLICT (channel) DO UPDATE SET release_id = excluded.release_id, since = excluded.since`,
  );
  const holders = database.prepare(
    `${select} WHERE (EXISTS (SELECT 1 FROM catalog_entry e
         WHERE e.blake3 = :blake3 AND e.revision_id = r.revision_id) OR r.server_info_blake3 = :blake3)
       AND r.snapshot_id IS NOT NULL AND r.state IN ('verified', 'current', 'superseded', 'damaged')`,
  );
  const destinations = database.prepare(
    `SELECT destination FROM catalog_entry WHERE blake3 = :blake3 AND revision_id = :revision_id
     ORDER BY destination LIMIT :limit`,
  );
  const referenced = database.prepare(
    `SELECT 1 FROM catalog_entry WHERE blake3 = :blake3
     UNION ALL SELECT 1 FROM release WHERE server_info_blake3 = :blake3 AND state <> 'deleted' LIMIT 1`,
  );
  const hasSnapshot = database.prepare(
    "SELECT 1 FROM release WHERE snapshot_id = :snapshot_id AND state <> 'deleted' LIMIT 1",
  );
  const addDamage = database.prepare(
    `INSERT INTO damaged_entry (channel, release_id, destination, blake3, status, found_at)
     VALUES (:channel, :release_id, :destination, :blake3, :status, :found_at)
     ON CONFLICT DO UPDATE SET status = excluded.status`,
  );
  const clearDamage = database.prepare(
    'DELETE FROM damaged_entry WHERE channel = :channel AND release_id = :release_id',
  );
  const damageOf = database.prepare(
    `SELECT * FROM damaged_entry WHERE channel = :channel AND release_id = :release_id
     ORDER BY destination LIMIT :limit`,
  );
  const damageCount = database.prepare(
    'SELECT count(*) AS count FROM damaged_entry WHERE channel = :channel AND release_id = :release_id',
  );

  const listed = (channel: Channel | null, limit: number): readonly ReleaseRow[] =>
    allRows<StoredRelease>(list, { channel, limit }).map(releaseOf);
  return {
    get: (channel, releaseId) => releaseOrNull(oneRow(get, { channel, release_id: releaseId })),
    named: (releaseId) => releaseOrNull(oneRow(named, { release_id: releaseId })),
    insert: (release) => {
      insert.run({ ...release, pinned: release.pinned ? 1 : 0 });
    },
    update: (channel, releaseId, change) => {
      const columns = COLUMNS.filter((column) => change[column] !== undefined);
      if (columns.length === 0) return;
      const parameters: Record<string, SqlValue> = { channel, release_id: releaseId };
      for (const column of columns) parameters[column] = sqlValue(change[column]);
      database
        .prepare(
          `UPDATE release SET ${columns.map((column) => `${column} = :${column}`).join(', ')}
           WHERE channel = :channel AND release_id = :release_id`,
        )
        .run(parameters);
    },
    list: listed,
    count: (channel) => oneRow<{ count: number }>(count, { channel })?.count ?? 0,
    kept: () => listed(null, LIST_MAX).filter(isKept),
    unfinished: () =>
      listed(null, LIST_MAX).filter((release) => release.state === 'staging' && release.revision_id !== null),
    current: (channel) => releaseOrNull(oneRow(current, { channel })),
    pointer: (channel) => oneRow(pointer, { channel }),
    setPointer: (channel, releaseId, since) => {
      setPointer.run({ channel, release_id: releaseId, since });
    },
    holders: (blake3) => allRows<StoredRelease>(holders, { blake3 }).map(releaseOf),
    destinationsOf: (release, blake3, limit) =>
      allRows<{ destination: string }>(destinations, {
        blake3,
        revision_id: release.revision_id,
        limit,
      }).map((row) => row.destination),
    isReferenced: (blake3) => oneRow(referenced, { blake3 }) !== null,
    hasSnapshot: (snapshotId) => oneRow(hasSnapshot, { snapshot_id: snapshotId }) !== null,
    addDamage: (entry) => {
      addDamage.run({ ...entry });
    },
    clearDamage: (channel, releaseId) => {
      clearDamage.run({ channel, release_id: releaseId });
    },
    damageOf: (channel, releaseId, limit) =>
      allRows<DamagedEntry>(damageOf, { channel, release_id: releaseId, limit }),
    damageCount: (channel, releaseId) =>
      oneRow<{ count: number }>(damageCount, { channel, release_id: releaseId })?.count ?? 0,
  };
}

/**
 * The state a release has when nothing is wrong with it.
 *
 * @param isCurrent whether it is its channel's current one
 */
export function soundState(release: ReleaseRow, isCurrent: boolean): ReleaseState {
  if (isCurrent) return 'current';
  return release.published_at === null ? 'verified' : 'superseded';
}

function sqlValue(value: ReleaseChange[keyof ReleaseChange]): SqlValue {
  if (typeof value === 'boolean') return value ? 1 : 0;
  return value ?? null;
}

function releaseOf(row: StoredRelease): ReleaseRow {
  return { ...row, pinned: row.pinned === 1 };
}

function releaseOrNull(row: StoredRelease | null): ReleaseRow | null {
  return row === null ? null : releaseOf(row);
}
