import type { Database } from '../../../../engine/database/sqlite-database.ts';

const STEP_ROWS = 1000;

export interface IndexCleanup {
  /**
   * Drops the indexes of releases that are not listed. The one that reports show stays, and so does the one it was carried
   * over from: indexing it again compares it with the same one. The one that a running carry-over compares with stays too.
   */
  drop(keptReleases: readonly string[]): void;
  /** Deletes some rows that were dropped. @returns false when there is nothing left to delete */
  step(): boolean;
  /** Deletes all rows that were dropped; pauses after each step. */
  reclaim(): Generator<void, void>;
}

export function createIndexCleanup(database: Database): IndexCleanup {
  const dropIndexes = database.prepare(`UPDATE release_index SET state = 'dropped' WHERE state = 'complete'
    AND release_id NOT IN (SELECT value FROM json_each(?))
    AND generation < (SELECT max(generation) FROM release_index)
    AND index_id NOT IN (SELECT previous_index_id FROM release_index WHERE previous_index_id IS NOT NULL
      AND (state = 'indexing' OR generation = (SELECT max(generation) FROM release_index)))`);
  const nextContent = database.prepare(
    `SELECT content_id AS id FROM content WHERE state = 'dropped' LIMIT 1`,
  );
  const nextIndex = database.prepare(
    `SELECT index_id AS id FROM release_index WHERE state = 'dropped' LIMIT 1`,
  );
  // A content that belongs to no release stays while a file that is being indexed may be copied from it.
  const dropOrphans = database.prepare(`UPDATE content SET state = 'dropped' WHERE state = 'complete'
    AND NOT EXISTS (SELECT 1 FROM container WHERE container.content_id = content.content_id)
    AND blake3 NOT IN (SELECT blake3 FROM container JOIN release_index USING (index_id)
      WHERE state = 'indexing' AND content_id IS NULL)`);
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
  const cleanup: IndexCleanup = {
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
    reclaim: function* reclaim() {
      while (cleanup.step()) yield;
    },
  };
  return cleanup;
}

/** Drops what an earlier process did not complete: it stays invisible, and the cleanup deletes it. */
export function dropUnfinished(database: Database): void {
  database.prepare(`UPDATE content SET state = 'dropped' WHERE state = 'building'`).run();
}
