import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Channel } from '../../../domain/release/channel.ts';
import { foldDestination } from '../../../domain/release/destination.ts';
import type { Blake3Hex } from '../../../domain/release/digest.ts';
import type { ReleaseId } from '../../../domain/release/release-id.ts';
import { TaskError } from '../../tasks/task.ts';
import type { UpstreamEntry } from '../../upstream/upstream.ts';
import type { CatalogEntryRow } from '../records/entry-row.ts';
import { allRows, oneRow, PAGE_ROWS, type SqlDatabase } from '../records/sql.ts';

/** One fetched catalog. Times are Unix seconds. */
export interface RevisionRow {
  readonly revision_id: number;
  readonly channel: Channel;
  readonly upstream_label: string;
  readonly upstream_release_id: ReleaseId;
  readonly fingerprint: string | null;
  readonly etag: string | null;
  readonly task_id: string;
  readonly app_version: string | null;
  readonly entry_count: number;
  /** Sum of the sizes that upstream states. */
  readonly stated_bytes: number;
  readonly fetched_at: number;
}

/** What begins a revision. */
export interface NewRevision {
  readonly channel: Channel;
  readonly upstreamLabel: string;
  readonly upstreamReleaseId: ReleaseId;
  readonly etag: string | null;
  readonly taskId: string;
  readonly appVersion: string | null;
  readonly serverInfo: Uint8Array | null;
  readonly fetchedAt: number;
}

/** What is still to be fetched. */
export interface Unresolved {
  readonly entries: number;
  /** Sum of the stated sizes. */
  readonly bytes: number;
  /** Entries whose size upstream does not state. */
  readonly unknownSizes: number;
}

/** Catalogs in SQLite, written in batches and read in pages, so that no catalog is ever in memory as a whole. */
export interface CatalogStore {
  begin(revision: NewRevision): number;
  /** Adds a batch in one transaction. Throws TaskError `destination_duplicate`. */
  add(revisionId: number, entries: readonly UpstreamEntry[]): void;
  /** Adds a batch of entries whose objects are known. Throws TaskError `destination_duplicate`. */
  addRows(revisionId: number, rows: readonly CatalogEntryRow[]): void;
  complete(revisionId: number, fingerprint: string): RevisionRow;
  get(revisionId: number): RevisionRow | null;
  /** The newest complete revision of an upstream. */
  newest(upstreamLabel: string): RevisionRow | null;
  /** The newest complete revision of an upstream with this fingerprint and id. */
  find(query: {
    readonly upstreamLabel: string;
    readonly fingerprint: string;
    readonly upstreamReleaseId: string;
  }): RevisionRow | null;
  /** Whether a release has its entries in this revision; then what is known of its objects must not be forgotten. */
  isReferenced(revisionId: number): boolean;
  /** Copies a revision for a task that has to work on it; without the objects of its entries when `reset`. */
  copy(revision: RevisionRow, taskId: string, reset: boolean): Promise<RevisionRow>;
  /** Notes that upstream still has this revision. */
  touch(revisionId: number, etag: string | null, fetchedAt: number): void;
  serverInfo(revisionId: number): Uint8Array | null;
  entry(revisionId: number, destination: string): CatalogEntryRow | null;
  /** Entries in manifest order, a page at a time; `unresolved` leaves out those whose object is known. */
  pages(revisionId: number, which: 'all' | 'unresolved'): AsyncGenerator<readonly CatalogEntryRow[]>;
  /** The same, one by one. */
  rows(revisionId: number, which: 'all' | 'unresolved'): AsyncGenerator<CatalogEntryRow>;
  /** Names the object of an entry, or with `null` forgets it. */
  resolve(revisionId: number, destination: string, blake3: Blake3Hex | null): void;
  unresolved(revisionId: number): Unresolved;
  /** Groups of destinations that a file system without case cannot keep apart, at most `limit`. */
  caseConflicts(revisionId: number, limit: number): readonly string[];
  /** Other complete revisions with known objects, newest first, at most `limit`. */
  donors(revisionId: number, limit: number): readonly number[];
  /** Removes a revision and its entries, in batches. */
  drop(revisionId: number): Promise<void>;
  /** Revisions that no release refers to and that are not the newest complete one of their upstream. */
  unreferenced(): readonly number[];
}

const REVISION_COLUMNS = `revision_id, channel, upstream_label, upstream_release_id, fingerprint, etag, task_id,
  app_version, entry_count, stated_bytes, fetched_at`;
const ENTRY_COLUMNS = `destination, source, media_type, stated_size, stated_blake3, stated_sha256, stated_md5,
  stated_crc32, locator, blake3`;

/** Creates the catalog store over the main database. */
export function createCatalogStore(database: SqlDatabase): CatalogStore {
  const statements = prepareStatements(database);

  const addRows = (revisionId: number, rows: readonly CatalogEntryRow[]): void => {
    database.transaction(() => {
      let bytes = 0;
      for (const row of rows) {
        const folded = foldDestination(row.destination);
        const { changes } = statements.insertEntry.run({
          ...row,
          revision_id: revisionId,
          folded: folded === row.destination ? null : folded,
        });
        if (Number(changes) === 0) {
          throw new TaskError(
            'destination_duplicate',
            `the catalog lists the destination ${JSON.stringify(row.destination)} more than once; it has to be corrected upstream`,
            { details: { destination: row.destination } },
          );
        }
        bytes += row.stated_size ?? 0;
      }
      statements.count.run({ revision_id: revisionId, entries: rows.length, bytes });
    });
  };

  async function* pages(
    revisionId: number,
    which: 'all' | 'unresolved',
  ): AsyncGenerator<readonly CatalogEntryRow[]> {
    const statement = which === 'all' ? statements.pageAll : statements.pageUnresolved;
    let after = '';
    for (;;) {
      const page = allRows<CatalogEntryRow>(statement, { revision_id: revisionId, after, limit: PAGE_ROWS });
      const last = page.at(-1);
      if (last === undefined) return;
      yield page;
      after = last.destination;
      await nextTurn();
    }
  }

  const complete = (revisionId: number, fingerprint: string): RevisionRow => {
    statements.complete.run({ revision_id: revisionId, fingerprint });
    const row = oneRow<RevisionRow>(statements.get, { revision_id: revisionId });
    if (row === null) throw new Error(`catalog revision ${revisionId} vanished while it was written`);
    return row;
  };

  return {
    begin: (revision) =>
      Number(
        statements.begin.run({
          channel: revision.channel,
          upstream_label: revision.upstreamLabel,
          upstream_release_id: revision.upstreamReleaseId,
          etag: revision.etag,
          task_id: revision.taskId,
          app_version: revision.appVersion,
          server_info: revision.serverInfo,
          fetched_at: revision.fetchedAt,
        }).lastInsertRowid,
      ),
    add: (revisionId, entries) => {
      addRows(revisionId, entries.map(rowOf));
    },
    addRows,
    complete,
    get: (revisionId) => oneRow(statements.get, { revision_id: revisionId }),
    newest: (upstreamLabel) => oneRow(statements.newest, { upstream_label: upstreamLabel }),
    find: ({ upstreamLabel, fingerprint, upstreamReleaseId }) =>
      oneRow(statements.find, {
        upstream_label: upstreamLabel,
        fingerprint,
        upstream_release_id: upstreamReleaseId,
      }),
    isReferenced: (revisionId) => oneRow(statements.isReferenced, { revision_id: revisionId }) !== null,
    copy: async (revision, taskId, reset) => {
      const copyId = Number(
        statements.copyRevision.run({ revision_id: revision.revision_id, task_id: taskId }).lastInsertRowid,
      );
      for await (const page of pages(revision.revision_id, 'all')) {
        addRows(copyId, reset ? page.map((row) => ({ ...row, blake3: null })) : page);
      }
      return complete(copyId, revision.fingerprint ?? '');
    },
    touch: (revisionId, etag, fetchedAt) => {
      statements.touch.run({ revision_id: revisionId, etag, fetched_at: fetchedAt });
    },
    serverInfo: (revisionId) =>
      oneRow<{ server_info: Uint8Array | null }>(statements.serverInfo, { revision_id: revisionId })
        ?.server_info ?? null,
    entry: (revisionId, destination) => oneRow(statements.entry, { revision_id: revisionId, destination }),
    pages,
    rows: async function* rows(revisionId, which) {
      for await (const page of pages(revisionId, which)) yield* page;
    },
    resolve: (revisionId, destination, blake3) => {
      statements.resolve.run({ revision_id: revisionId, destination, blake3 });
    },
    unresolved: (revisionId) =>
      oneRow<Unresolved>(statements.unresolved, { revision_id: revisionId }) ?? {
        entries: 0,
        bytes: 0,
        unknownSizes: 0,
      },
    caseConflicts: (revisionId, limit) =>
      allRows<{ names: string }>(statements.caseConflicts, { revision_id: revisionId, limit }).map(
        (row) => row.names,
      ),
    donors: (revisionId, limit) =>
      allRows<{ revision_id: number }>(statements.donors, { revision_id: revisionId, limit }).map(
        (row) => row.revision_id,
      ),
    drop: async (revisionId) => {
      for (;;) {
        const { changes } = statements.dropEntries.run({ revision_id: revisionId, limit: PAGE_ROWS });
        if (Number(changes) === 0) break;
        await nextTurn();
      }
      statements.dropRevision.run({ revision_id: revisionId });
    },
    unreferenced: () =>
      allRows<{ revision_id: number }>(statements.unreferenced, {}).map((row) => row.revision_id),
  };
}

function rowOf(entry: UpstreamEntry): CatalogEntryRow {
  return {
    destination: entry.destination,
    source: 'official',
    media_type: null,
    stated_size: entry.size,
    stated_blake3: entry.digests.blake3 ?? null,
    stated_sha256: entry.digests.sha256 ?? null,
    stated_md5: entry.digests.md5 ?? null,
    stated_crc32: entry.digests.crc32 ?? null,
    locator: entry.locator,
    blake3: null,
  };
}

type Statements = Readonly<Record<keyof typeof SQL, ReturnType<SqlDatabase['prepare']>>>;

const SQL = {
  begin: `INSERT INTO catalog_revision
      (channel, upstream_label, upstream_release_id, etag, task_id, app_version, server_info, fetched_at)
    VALUES (:channel, :upstream_label, :upstream_release_id, :etag, :task_id, :app_version, :server_info, :fetched_at)`,
  insertEntry: `INSERT INTO catalog_entry (revision_id, folded, ${ENTRY_COLUMNS})
    VALUES (:revision_id, :folded, :destination, :source, :media_type, :stated_size, :stated_blake3, :stated_sha256,
      :stated_md5, :stated_crc32, :locator, :blake3)
    ON CONFLICT DO NOTHING`,
  count: `UPDATE catalog_revision SET entry_count = entry_count + :entries, stated_bytes = stated_bytes + :bytes
    WHERE revision_id = :revision_id`,
  complete:
    'UPDATE catalog_revision SET complete = 1, fingerprint = :fingerprint WHERE revision_id = :revision_id',
  get: `SELECT ${REVISION_COLUMNS} FROM catalog_revision WHERE revision_id = :revision_id AND complete = 1`,
  newest: `SELECT ${REVISION_COLUMNS} FROM catalog_revision WHERE upstream_label = :upstream_label AND complete = 1
    ORDER BY fetched_at DESC, revision_id DESC LIMIT 1`,
  find: `SELECT ${REVISION_COLUMNS} FROM catalog_revision WHERE upstream_label = :upstream_label AND complete = 1
      AND fingerprint = :fingerprint AND upstream_release_id = :upstream_release_id
    ORDER BY revision_id DESC LIMIT 1`,
  isReferenced: 'SELECT 1 FROM release WHERE revision_id = :revision_id LIMIT 1',
  copyRevision: `INSERT INTO catalog_revision
      (channel, upstream_label, upstream_release_id, etag, task_id, app_version, server_info, fetched_at)
    SELECT channel, upstream_label, upstream_release_id, etag, :task_id, app_version, server_info, fetched_at
    FROM catalog_revision WHERE revision_id = :revision_id`,
  touch:
    'UPDATE catalog_revision SET etag = :etag, fetched_at = :fetched_at WHERE revision_id = :revision_id',
  serverInfo: 'SELECT server_info FROM catalog_revision WHERE revision_id = :revision_id',
  entry: `SELECT ${ENTRY_COLUMNS} FROM catalog_entry WHERE revision_id = :revision_id AND destination = :destination`,
  pageAll: `SELECT ${ENTRY_COLUMNS} FROM catalog_entry WHERE revision_id = :revision_id AND destination > :after
    ORDER BY destination LIMIT :limit`,
  pageUnresolved: `SELECT ${ENTRY_COLUMNS} FROM catalog_entry WHERE revision_id = :revision_id AND destination > :after
      AND blake3 IS NULL ORDER BY destination LIMIT :limit`,
  resolve:
    'UPDATE catalog_entry SET blake3 = :blake3 WHERE revision_id = :revision_id AND destination = :destination',
  unresolved: `SELECT count(*) AS entries, coalesce(sum(stated_size), 0) AS bytes,
      count(*) - count(stated_size) AS unknownSizes
    FROM catalog_entry WHERE revision_id = :revision_id AND blake3 IS NULL`,
  caseConflicts: `SELECT group_concat(destination, ', ') AS names FROM catalog_entry WHERE revision_id = :revision_id
    GROUP BY coalesce(folded, destination) HAVING count(*) > 1 LIMIT :limit`,
  donors: `SELECT revision_id FROM catalog_revision r WHERE revision_id <> :revision_id AND complete = 1
      AND EXISTS (SELECT 1 FROM catalog_entry e WHERE e.revision_id = r.revision_id AND e.blake3 IS NOT NULL)
    ORDER BY revision_id DESC LIMIT :limit`,
  dropEntries: `DELETE FROM catalog_entry WHERE revision_id = :revision_id AND destination IN
    (SELECT destination FROM catalog_entry WHERE revision_id = :revision_id LIMIT :limit)`,
  dropRevision: 'DELETE FROM catalog_revision WHERE revision_id = :revision_id',
  unreferenced: `SELECT revision_id FROM catalog_revision r
    WHERE NOT EXISTS (SELECT 1 FROM release WHERE release.revision_id = r.revision_id)
      AND (complete = 0 OR revision_id <> (SELECT n.revision_id FROM catalog_revision n
        WHERE n.upstream_label = r.upstream_label AND n.complete = 1
        ORDER BY n.fetched_at DESC, n.revision_id DESC LIMIT 1))`,
} as const;

function prepareStatements(database: SqlDatabase): Statements {
  return Object.fromEntries(
    Object.entries(SQL).map(([name, sql]) => [name, database.prepare(sql)]),
  ) as Statements;
}
