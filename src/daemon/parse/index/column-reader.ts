import type { Database } from '../../database/sqlite-database.ts';
import { UNIT_ID_BYTES } from '../container/parsed-container.ts';
import { TEXT_BYTES, type ContainerColumns } from './unit-columns.ts';

/** Units of one step. */
const STEP_UNITS = 5000;

/** Reads the columns of a content in steps. */
export type ReadColumns = (contentId: number, count: number) => Generator<void, ContainerColumns>;

export function createColumnReader(database: Database): ReadColumns {
  const units = database.prepare(
    'SELECT unit_id, source_digest FROM unit WHERE content_id = ? AND ordinal BETWEEN ? AND ? ORDER BY ordinal',
  );
  const leaves = database.prepare(
    'SELECT first_ordinal FROM leaf WHERE content_id = ? AND first_ordinal BETWEEN ? AND ?',
  );
  return function* readColumns(contentId, count) {
    const columns = {
      count,
      unitIds: Buffer.alloc(count * UNIT_ID_BYTES),
      texts: Buffer.alloc(count * TEXT_BYTES),
      leafStarts: new Uint8Array(count),
    };
    for (let first = 0; first < count; first += STEP_UNITS) {
      const last = first + STEP_UNITS - 1;
      let ordinal = first;
      for (const row of units.iterate(contentId, first, last)) {
        columns.unitIds.set(row['unit_id'] as Uint8Array, ordinal * UNIT_ID_BYTES);
        columns.texts.set((row['source_digest'] as Uint8Array).subarray(0, TEXT_BYTES), ordinal * TEXT_BYTES);
        ordinal += 1;
      }
      for (const row of leaves.iterate(contentId, first, last)) {
        columns.leafStarts[Number(row['first_ordinal'])] = 1;
      }
      yield;
    }
    return columns;
  };
}
