import type { Channel } from '../../domain/release/channel.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';
import { createDamageRecords, type DamageRecords } from './damage-records.ts';
import { isKept, releaseOf, type ReleaseRow, type ReleaseState, type StoredRelease } from './release-row.ts';
import { allRows, oneRow, type SqlDatabase, type SqlValue } from './sql.ts';
import type { Blake3Hex, SnapshotId } from '../../domain/release/digest.ts';

/** Most releases that one list has; cleanup keeps far fewer. */
export const RELEASES_MAX = 10_000;

/** The current release of a channel, and since when (Unix seconds). */
export interface CurrentRelease {
  readonly channel: Channel;
  readonly release_id: ReleaseId;
  readonly since: number;
}

/** A release that becomes the current one of its channel at a stated time, Unix seconds. */
export interface Announcement {
  readonly channel: Channel;
  readonly release_id: ReleaseId;
  readonly current_at: number;
}

/** The columns of a release that can change. */
export type ReleaseChange = Partial<Omit<ReleaseRow, 'channel' | 'release_id'>>;

/**
 * Releases, the pointer to the current one of each channel, their contents and their damage. Single statements; callers
 * group them.
 */
export interface ReleaseRepository extends ObjectHolders, DamageRecords {
  get(channel: Channel, releaseId: string): ReleaseRow | null;
  named(releaseId: string): ReleaseRow | null;
  insert(release: ReleaseRow): void;
  update(channel: Channel, releaseId: string, change: ReleaseChange): void;
  /** Newest first. */
  list(channel: Channel | null, limit: number): readonly ReleaseRow[];
  count(channel: Channel | null): number;
  /** Every release that has a manifest and objects, newest first. */
  kept(): readonly ReleaseRow[];
  /** Releases that were never completed and still hold a catalog. */
  unfinished(): readonly ReleaseRow[];
  current(channel: Channel): ReleaseRow | null;
  pointer(channel: Channel): CurrentRelease | null;
  setPointer(channel: Channel, releaseId: string, since: number): void;
  clearPointer(channel: Channel): void;
  announced(): readonly Announcement[];
  announcedOf(channel: Channel): Announcement | null;
  setAnnounced(channel: Channel, releaseId: string, currentAt: number): void;
  clearAnnounced(channel: Channel): void;
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
  'excluded_count',
  'server_info_blake3',
  'server_info_size',
  'created_at',
  'published_at',
  'superseded_at',
  'verified_at',
  'checked_at',
  'damaged_at',
  'damage_reason',
  'damage_message',
  'stale_since',
  'deleted_at',
  'pinned',
] as const satisfies readonly (keyof ReleaseChange)[];

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
  const clearPointer = database.prepare('DELETE FROM current_release WHERE channel = :channel');
  const announced = database.prepare('SELECT * FROM announced_release');
  const announcedOf = database.prepare('SELECT * FROM announced_release WHERE channel = :channel');
  const setAnnounced = database.prepare(
    `INSERT INTO announced_release (channel, release_id, current_at) VALUES (:channel, :release_id, :current_at)
     ON CONFLICT (channel) DO UPDATE SET release_id = excluded.release_id, current_at = excluded.current_at`,
  );
  const clearAnnounced = database.prepare('DELETE FROM announced_release WHERE channel = :channel');
  const listed = (channel: Channel | null, limit: number): readonly ReleaseRow[] =>
    allRows<StoredRelease>(list, { channel, limit }).map(releaseOf);
  return {
    ...createObjectHolders(database),
    ...createDamageRecords(database),
    get: (channel, releaseId) => releaseOrNull(oneRow(get, { channel, release_id: releaseId })),
    named: (releaseId) => releaseOrNull(oneRow(named, { release_id: releaseId })),
    insert: (release) => void insert.run({ ...release, pinned: release.pinned ? 1 : 0 }),
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
    kept: () => listed(null, RELEASES_MAX).filter(isKept),
    unfinished: () =>
      listed(null, RELEASES_MAX).filter(
        (release) => release.state === 'staging' && release.revision_id !== null,
      ),
    current: (channel) => releaseOrNull(oneRow(current, { channel })),
    pointer: (channel) => oneRow(pointer, { channel }),
    setPointer: (channel, releaseId, since) => void setPointer.run({ channel, release_id: releaseId, since }),
    clearPointer: (channel) => void clearPointer.run({ channel }),
    announced: () => allRows<Announcement>(announced, {}),
    announcedOf: (channel) => oneRow(announcedOf, { channel }),
    setAnnounced: (channel, releaseId, currentAt) =>
      void setAnnounced.run({ channel, release_id: releaseId, current_at: currentAt }),
    clearAnnounced: (channel) => void clearAnnounced.run({ channel }),
  };
}

/**
 * The state of a release without damage.
 *
 * @param isCurrent whether it is the current release of its channel
 */
export function soundState(release: ReleaseRow, isCurrent: boolean): ReleaseState {
  if (isCurrent) return 'current';
  return release.published_at === null ? 'verified' : 'superseded';
}

function sqlValue(value: ReleaseChange[keyof ReleaseChange]): SqlValue {
  if (typeof value === 'boolean') return value ? 1 : 0;
  return value ?? null;
}

function releaseOrNull(row: StoredRelease | null): ReleaseRow | null {
  return row === null ? null : releaseOf(row);
}

/** The release of a channel that was published last: the announced one, or else the current one; `null` without both. */
export function publishedLast(releases: ReleaseRepository, channel: Channel): ReleaseRow | null {
  const announced = releases.announcedOf(channel);
  return announced === null ? releases.current(channel) : releases.get(channel, announced.release_id);
}

interface ObjectHolders {
  holders(blake3: Blake3Hex): readonly ReleaseRow[];
  withSnapshot(snapshotId: SnapshotId): readonly ReleaseRow[];
  destinationsOf(release: ReleaseRow, blake3: Blake3Hex, limit: number): readonly string[];
  /** Whether an entry of any catalog or a server-info document refers to an object. */
  isReferenced(blake3: Blake3Hex): boolean;
  /** Whether a release that is not deleted has this manifest. */
  hasSnapshot(snapshotId: SnapshotId): boolean;
}

function createObjectHolders(database: SqlDatabase): ObjectHolders {
  const holders = database.prepare(
    `SELECT r.* FROM release r WHERE (EXISTS (SELECT 1 FROM catalog_entry e
         WHERE e.blake3 = :blake3 AND e.revision_id = r.revision_id) OR r.server_info_blake3 = :blake3)
       AND r.snapshot_id IS NOT NULL AND r.state IN ('verified', 'current', 'superseded', 'damaged')`,
  );
  const ofSnapshot = database.prepare(
    `SELECT r.* FROM release r WHERE r.snapshot_id = :snapshot_id
       AND r.state IN ('verified', 'current', 'superseded', 'damaged')`,
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
  return {
    holders: (blake3) => allRows<StoredRelease>(holders, { blake3 }).map(releaseOf),
    withSnapshot: (snapshotId) =>
      allRows<StoredRelease>(ofSnapshot, { snapshot_id: snapshotId }).map(releaseOf),
    destinationsOf: (release, blake3, limit) =>
      allRows<{ readonly destination: string }>(destinations, {
        blake3,
        revision_id: release.revision_id,
        limit,
      }).map((row) => row.destination),
    isReferenced: (blake3) => oneRow(referenced, { blake3 }) !== null,
    hasSnapshot: (snapshotId) => oneRow(hasSnapshot, { snapshot_id: snapshotId }) !== null,
  };
}
