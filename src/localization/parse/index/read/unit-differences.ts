import type { SQLOutputValue } from 'node:sqlite';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import type { ContentReader } from './content-reader.ts';
import { PageItems } from './release-page.ts';
import { readIndexOf } from './reported-index.ts';
import { locationFields, unitFields, type LocationFields, type UnitFields } from './text-units.ts';

type Change = 'new' | 'changed' | 'moved' | 'unique' | 'removed';

type DifferenceSide = UnitFields & LocationFields & { readonly destination: string };

interface UnitDifference {
  readonly change: Change;
  readonly unit: DifferenceSide | null;
  readonly previous: DifferenceSide | null;
}

export interface UnitDifferences {
  readonly total: number;
  readonly nextOffset: number | null;
  readonly items: readonly UnitDifference[];
}

export interface DifferencesQuery {
  readonly fromRelease: string;
  readonly toRelease: string;
  readonly offset: number;
  readonly limit: number;
}

/** Most bytes of a page as JSON: it becomes the result of a task, and the daemon keeps that. */
const MAX_BYTES = 1024 * 1024;

/**
 * The differences between a release and the one it was carried over from.
 *
 * @returns `null` when one of them is not in the index, or `toRelease` was carried over from another release
 */
export function readDifferences(
  database: Database,
  reader: ContentReader,
  { fromRelease, toRelease, offset, limit }: DifferencesQuery,
): UnitDifferences | null {
  const from = readIndexOf(database, fromRelease);
  const to = readIndexOf(database, toRelease);
  if (from === null || to === null || to.previousIndexId !== from.indexId) return null;
  const runs = database.prepare(
    `SELECT * FROM pair WHERE index_id = ? AND tier <> 'same' ORDER BY side, position, first_ordinal`,
  );
  const readSide = createSideReader(database, reader);
  const page = new PageItems<UnitDifference>(limit, MAX_BYTES);
  let total = 0;
  for (const row of runs.iterate(to.indexId)) {
    const run = runOf(row);
    const start = Math.max(0, offset - total);
    for (let index = start; index < run.units && !page.isFull; index += 1) {
      const place = run.isRemoved ? null : { position: run.position, ordinal: run.first + index };
      const old = run.isRemoved
        ? { position: run.position, ordinal: run.first + index }
        : run.old === null
          ? null
          : { position: run.old.position, ordinal: run.old.first + index };
      page.add({
        change: run.change,
        unit: place === null ? null : readSide(to.indexId, place),
        previous: old === null ? null : readSide(from.indexId, old),
      });
    }
    total += run.units;
  }
  return { total, nextOffset: page.nextOffset(offset, total), items: page.items };
}

function runOf(row: Record<string, SQLOutputValue>): {
  readonly change: Change;
  readonly isRemoved: boolean;
  readonly position: number;
  readonly first: number;
  readonly units: number;
  readonly old: { readonly position: number; readonly first: number } | null;
} {
  const [oldPosition, oldFirst] = [row['old_position'], row['old_first_ordinal']];
  return {
    change: row['tier'] as Change,
    isRemoved: row['tier'] === 'removed',
    position: Number(row['position']),
    first: Number(row['first_ordinal']),
    units: Number(row['units']),
    old:
      typeof oldPosition === 'number' && typeof oldFirst === 'number'
        ? { position: oldPosition, first: oldFirst }
        : null,
  };
}

function createSideReader(
  database: Database,
  reader: ContentReader,
): (indexId: number, place: { position: number; ordinal: number }) => DifferenceSide | null {
  const file = database.prepare(
    'SELECT destination, content_id FROM container WHERE index_id = ? AND position = ?',
  );
  return (indexId, { position, ordinal }) => {
    const row = file.get(indexId, position);
    const contentId = Number(row?.['content_id']);
    const [found] = [...reader.eachUnit(contentId, ordinal, ordinal)];
    if (found === undefined) return null;
    const { unit, leaf } = found;
    return { destination: String(row?.['destination']), ...locationFields(leaf), ...unitFields(unit) };
  };
}
