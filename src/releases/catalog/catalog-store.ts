import type { Channel } from '../../domain/release/channel.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';
import { allRows, oneRow, prepareAll, type SqlDatabase } from '../records/sql.ts';
import { createCatalogEntries, type CatalogEntries } from './catalog-entries.ts';

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
  /** Entries of the catalog that `upstream.exclude` left out. */
  readonly excluded_count: number;
  readonly entry_count: number;
  readonly stated_bytes: number;
  readonly fetched_at: number;
}

interface NewRevision {
  readonly channel: Channel;
  readonly upstreamLabel: string;
  readonly upstreamReleaseId: ReleaseId;
  readonly etag: string | null;
  readonly taskId: string;
  readonly appVersion: string | null;
  readonly serverInfo: Uint8Array | null;
  readonly fetchedAt: number;
}

export interface CatalogStore extends CatalogEntries {
  begin(revision: NewRevision): number;
  /** @param excluded entries of the catalog that were left out; default: none */
  complete(revisionId: number, fingerprint: string, excluded?: number): RevisionRow;
  get(revisionId: number): RevisionRow | null;
  newest(upstreamLabel: string): RevisionRow | null;
  find(query: {
    readonly upstreamLabel: string;
    readonly fingerprint: string;
    readonly upstreamReleaseId: string;
  }): RevisionRow | null;
  /** Whether a release has its entries in this revision; the known objects of the entries must then be kept. */
  isReferenced(revisionId: number): boolean;
  /** Copies a revision so that a task can change it; with `reset` the copy has no known objects. */
  copy(revision: RevisionRow, taskId: string, reset: boolean): Promise<RevisionRow>;
  touch(revisionId: number, etag: string | null, fetchedAt: number): void;
  serverInfo(revisionId: number): Uint8Array | null;
  /** Other complete revisions with known objects, newest first, at most `limit`. */
  donors(revisionId: number, limit: number): readonly number[];
  drop(revisionId: number): Promise<void>;
  /** Revisions that no release refers to and that are not the newest complete one of their upstream. */
  unreferenced(): readonly number[];
}

const REVISION_COLUMNS = `revision_id, channel, upstream_label, upstream_release_id, fingerprint, etag, task_id,
  app_version, excluded_count, entry_count, stated_bytes, fetched_at`;
export function createCatalogStore(database: SqlDatabase): CatalogStore {
  const entries = createCatalogEntries(database);
  const statements = prepareAll(database, SQL);

  const complete = (revisionId: number, fingerprint: string, excluded = 0): RevisionRow => {
    statements.complete.run({ revision_id: revisionId, fingerprint, excluded });
    const row = oneRow<RevisionRow>(statements.get, { revision_id: revisionId });
    if (row === null) throw new Error(`catalog revision ${revisionId} vanished while it was written`);
    return row;
  };

  return {
    ...entries,
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
      const copied = entries.copyRows(revision.revision_id, { revisionId: copyId, withObjects: !reset });
      while ((await copied.next()).done !== true);
      return complete(copyId, revision.fingerprint ?? '', revision.excluded_count);
    },
    touch: (revisionId, etag, fetchedAt) =>
      void statements.touch.run({ revision_id: revisionId, etag, fetched_at: fetchedAt }),
    serverInfo: (revisionId) =>
      oneRow<{ server_info: Uint8Array | null }>(statements.serverInfo, { revision_id: revisionId })
        ?.server_info ?? null,
    donors: (revisionId, limit) =>
      allRows<{ revision_id: number }>(statements.donors, { revision_id: revisionId, limit }).map(
        (row) => row.revision_id,
      ),
    drop: async (revisionId) => {
      // When the deletion is interrupted, nobody may take the rest for a whole catalog.
      statements.reopen.run({ revision_id: revisionId });
      await entries.dropEntries(revisionId);
      statements.dropRevision.run({ revision_id: revisionId });
    },
    unreferenced: () =>
      allRows<{ revision_id: number }>(statements.unreferenced, {}).map((row) => row.revision_id),
  };
}

const SQL = {
  begin: `INSERT INTO catalog_revision
      (channel, upstream_label, upstream_release_id, etag, task_id, app_version, server_info, fetched_at)
    VALUES (:channel, :upstream_label, :upstream_release_id, :etag, :task_id, :app_version, :server_info, :fetched_at)`,
  complete:
    'UPDATE catalog_revision SET complete = 1, fingerprint = :fingerprint, excluded_count = :excluded WHERE revision_id = :revision_id',
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
  donors: `SELECT revision_id FROM catalog_revision r WHERE revision_id <> :revision_id AND complete = 1
      AND EXISTS (SELECT 1 FROM catalog_entry e WHERE e.revision_id = r.revision_id AND e.blake3 IS NOT NULL)
    ORDER BY revision_id DESC LIMIT :limit`,
  reopen: 'UPDATE catalog_revision SET complete = 0 WHERE revision_id = :revision_id',
  dropRevision: 'DELETE FROM catalog_revision WHERE revision_id = :revision_id',
  unreferenced: `SELECT revision_id FROM catalog_revision r
    WHERE NOT EXISTS (SELECT 1 FROM release WHERE release.revision_id = r.revision_id)
      AND (complete = 0 OR revision_id <> (SELECT n.revision_id FROM catalog_revision n
        WHERE n.upstream_label = r.upstream_label AND n.complete = 1
        ORDER BY n.fetched_at DESC, n.revision_id DESC LIMIT 1))`,
} as const;
