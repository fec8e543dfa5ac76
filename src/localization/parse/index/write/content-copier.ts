import type { SQLOutputValue } from 'node:sqlite';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import type { ContentReader } from '../read/content-reader.ts';
import type { ContentWriter } from './content-writer.ts';
import { unitIdOf } from '../../container/unit-emitter.ts';
import type { ParsedUnit } from '../../container/parsed-container.ts';
import type { ContentOutcome } from '../index-rows.ts';

const STEP_ROWS = 1000;
/** UTF-16 code units of the texts and paths of one step, about. */
const STEP_CHARACTERS = 1024 * 1024;

/**
 * Makes the content of a file from that of another file with the same bytes: only the ids of the units differ.
 *
 * @returns false when no such content is known; the file is to be parsed then. Pauses after each batch.
 */
export function* copyContent(
  {
    database,
    reader,
    writer,
  }: { readonly database: Database; readonly reader: ContentReader; readonly writer: ContentWriter },
  indexId: number,
  position: number,
): Generator<void, boolean> {
  const source = database
    .prepare(
      `SELECT content.*, container.destination_key AS new_key
      FROM container JOIN release_index USING (index_id) JOIN content ON content.blake3 = container.blake3
        AND content.parser_version = release_index.parser_version AND content.rules_digest = container.rules_digest
        AND content.state = 'complete' AND content.is_reusable = 1
      WHERE index_id = ? AND position = ? LIMIT 1`,
    )
    .get(indexId, position);
  if (source === undefined) return false;
  const [from, units] = [Number(source['content_id']), Number(source['units'])];
  const errors = Number(source['errors']) + Number(source['warnings']);
  const newKey = String(source['new_key']);
  const contentId = writer.start(indexId, position);
  for (let first = 0; first < units;) {
    const batch = readUnits(reader, from, first, newKey);
    writer.append(contentId, batch);
    first += batch.length;
    yield;
  }
  for (let first = 0; first < errors; first += STEP_ROWS) {
    writer.append(contentId, [], reader.errors(from, first, STEP_ROWS));
    yield;
  }
  writer.finish(contentId, outcomeOf(source));
  return true;
}

/** The next units, with the ids that they have in another file; at least one. */
function readUnits(
  reader: ContentReader,
  contentId: number,
  first: number,
  destinationKey: string,
): ParsedUnit[] {
  const last = first + STEP_ROWS - 1;
  const units: ParsedUnit[] = [];
  let characters = 0;
  for (const { unit, leaf } of reader.eachUnit(contentId, first, last)) {
    const { archiveEntry, pathId, classId, format } = leaf;
    const unitId = unitIdOf(destinationKey, unit.keyPath);
    units.push({ ...unit, archiveEntry, pathId, classId, format, unitId });
    characters += unit.sourceText.length + unit.keyPath.length + unit.fieldPath.length;
    if (characters >= STEP_CHARACTERS) break;
  }
  if (units.length === 0) throw new Error(`the content ${contentId} has no unit ${first}`);
  return units;
}

function outcomeOf(row: Record<string, SQLOutputValue>): ContentOutcome {
  return {
    parseStatus: row['parse_status'] as ContentOutcome['parseStatus'],
    format: row['format'] as string | null,
    skipped: JSON.parse(String(row['skipped'])) as Record<string, number>,
    seconds: 0,
    bytes: Number(row['bytes']),
    isReusable: true,
  };
}
