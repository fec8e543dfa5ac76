import type { SQLInputValue } from 'node:sqlite';
import { compareDestinations } from '../../../../domain/release/destination.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import type { IndexedFile, MissingContents, ReleaseFiles } from '../index-rows.ts';

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
