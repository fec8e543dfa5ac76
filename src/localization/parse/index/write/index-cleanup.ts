import type { Database } from '../../../../engine/database/sqlite-database.ts';
import type { SQLInputValue } from 'node:sqlite';
import { compareDestinations } from '../../../../domain/release/destination.ts';
import type { IndexedFile, MissingContents, ReleaseFiles } from '../index-rows.ts';

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

/**
 * Begins to index a release: stores its list of files and finds the contents that are known already. An indexing that was not
 * completed is dropped; what it parsed is found again by its key.
 *
 * @throws RangeError when the files are not in order; SQLite's error of a constraint when two have the same destination key
 */
export function beginRelease(database: Database, release: ReleaseFiles): MissingContents {
  return database.transaction(() => {
    database.prepare(`UPDATE content SET state = 'dropped' WHERE state = 'building'`).run();
    database.prepare(`UPDATE release_index SET state = 'dropped' WHERE state = 'indexing'`).run();
    const { lastInsertRowid } = database
      .prepare(
        `INSERT INTO release_index (release_id, state, parser_version, rules_digest) VALUES (?, 'indexing', ?, ?)`,
      )
      .run(release.releaseId, release.parserVersion, release.rulesDigest);
    const indexId = Number(lastInsertRowid);
    return { indexId, ...storeFiles(database, indexId, release) };
  });
}

function storeFiles(
  database: Database,
  indexId: number,
  { parserVersion, files }: ReleaseFiles,
): Omit<MissingContents, 'indexId'> {
  const insert = database.prepare(
    'INSERT INTO container (index_id, position, destination, destination_key, blake3, rules_digest, content_id, ambiguity) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const known = database.prepare(`SELECT content_id FROM content WHERE blake3 = ? AND destination_key = ?
    AND parser_version = ? AND rules_digest = ? AND state = 'complete' AND is_reusable = 1`);
  const alike = database.prepare(`SELECT 1 FROM content WHERE blake3 = ?
    AND parser_version = ? AND rules_digest = ? AND state = 'complete' AND is_reusable = 1 LIMIT 1`);
  const toParse: number[] = [];
  const toCopy: number[] = [];
  const awaited = new Set<string>();
  let position = -1;
  for (const { destination, destinationKey, blake3, rulesDigest, ambiguity } of inOrder(files)) {
    position += 1;
    const found = known.get(blake3, destinationKey, parserVersion, rulesDigest);
    const contentId: SQLInputValue = found === undefined ? null : Number(found['content_id']);
    insert.run(indexId, position, destination, destinationKey, blake3, rulesDigest, contentId, ambiguity);
    if (contentId !== null) continue;
    const bytesKey = `${Buffer.from(blake3).toString('latin1')}${Buffer.from(rulesDigest).toString('latin1')}`;
    if (awaited.has(bytesKey) || alike.get(blake3, parserVersion, rulesDigest) !== undefined) {
      toCopy.push(position);
    } else {
      awaited.add(bytesKey);
      toParse.push(position);
    }
  }
  return { toParse, toCopy };
}

function* inOrder(files: Iterable<IndexedFile>): Generator<IndexedFile, void> {
  let before: string | null = null;
  for (const file of files) {
    if (before !== null && compareDestinations(before, file.destination) >= 0) {
      throw new RangeError(
        `the files of a release are not in order: "${file.destination}" follows "${before}"`,
      );
    }
    before = file.destination;
    yield file;
  }
}
