import type { Database } from '../../database/sqlite-database.ts';

/** Rows that one step deletes. */
const STEP_ROWS = 1000;

/** Removes rows that no release needs, in small steps. */
export interface IndexCleanup {
  /**
   * Drops the indexes of releases that are not listed. The one that reports show stays, and so does the one that a running
   * carry-over compares with.
   */
  drop(keptReleases: readonly string[]): void;
  /**
   * Deletes some rows that were dropped.
   *
   * @returns false when there is nothing left to delete
   */
  step(): boolean;
}

export function createIndexCleanup(database: Database): IndexCleanup {
  const dropIndexes = database.prepare(`UPDATE release_index SET state = 'dropped' WHERE state = 'complete'
    AND release_id NOT IN (SELECT value FROM json_each(?))
    AND generation < (SELECT max(generation) FROM release_index)
    AND index_id NOT IN (SELECT previous_index_id FROM release_index
      WHERE state = 'indexing' AND previous_index_id IS NOT NULL)`);
  const nextContent = database.prepare(
    `SELECT content_id AS id FROM content WHERE state = 'dropped' LIMIT 1`,
  );
  const nextIndex = database.prepare(
    `SELECT index_id AS id FROM release_index WHERE state = 'dropped' LIMIT 1`,
  );
  // A copy reads a content that may belong to no release, so nothing is orphaned while a release is being indexed.
  const dropOrphans = database.prepare(`UPDATE content SET state = 'dropped' WHERE state = 'complete'
    AND NOT EXISTS (SELECT 1 FROM container WHERE container.content_id = content.content_id)
    AND NOT EXISTS (SELECT 1 FROM release_index WHERE state = 'indexing')`);
  const deleteSome = (table: string, owner: string, key: string) =>
    database.prepare(`DELETE FROM ${table} WHERE ${owner} = ?1 AND (${key}) IN
      (SELECT ${key} FROM ${table} WHERE ${owner} = ?1 LIMIT ${STEP_ROWS})`);
  const contentRows = [
    deleteSome('unit', 'content_id', 'ordinal'),
    deleteSome('leaf', 'content_id', 'first_ordinal'),
    deleteSome('parse_error', 'content_id', 'number'),
    database.prepare('DELETE FROM content WHERE content_id = ?'),
  ];
  const indexRows = [
    deleteSome('pair', 'index_id', 'side, position, first_ordinal'),
    deleteSome('container', 'index_id', 'position'),
    database.prepare('DELETE FROM release_index WHERE index_id = ?'),
  ];
  return {
    drop: (keptReleases) => {
      dropIndexes.run(JSON.stringify(keptReleases));
    },
    step: () =>
      database.transaction(() => {
        for (const [next, deletions] of [
          [nextContent, contentRows],
          [nextIndex, indexRows],
        ] as const) {
          const id = next.get()?.['id'];
          if (typeof id === 'number') return deletions.some((deletion) => deletion.run(id).changes > 0);
        }
        return dropOrphans.run().changes > 0;
      }),
  };
}

/** Drops what an earlier process did not complete: it stays invisible, and the cleanup deletes it. */
export function dropUnfinished(database: Database): void {
  database.prepare(`UPDATE content SET state = 'dropped' WHERE state = 'building'`).run();
}
