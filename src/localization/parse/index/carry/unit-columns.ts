import { UNIT_ID_BYTES } from '../../container/parsed-container.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';

/** The first bytes of a digest that prove the same text. More would only take memory. */
export const TEXT_BYTES = 16;
const NO_NEIGHBOUR = '\0'.repeat(TEXT_BYTES);

export interface UnitColumns {
  readonly count: number;
  /** {@link UNIT_ID_BYTES} for each unit. */
  readonly unitIds: Buffer;
  /** The first {@link TEXT_BYTES} of the source digest of each unit. */
  readonly texts: Buffer;
}

export interface ContainerColumns extends UnitColumns {
  /** 1 for the first unit of each leaf. */
  readonly leafStarts: Uint8Array;
}

export const NO_UNITS: ContainerColumns = {
  count: 0,
  unitIds: Buffer.alloc(0),
  texts: Buffer.alloc(0),
  leafStarts: new Uint8Array(0),
};

export function unitIdAt({ unitIds }: UnitColumns, index: number): string {
  return unitIds.toString('latin1', index * UNIT_ID_BYTES, (index + 1) * UNIT_ID_BYTES);
}

/** The beginning of the digest of a unit's text, as a string of single bytes. */
export function textAt({ texts }: UnitColumns, index: number): string {
  return texts.toString('latin1', index * TEXT_BYTES, (index + 1) * TEXT_BYTES);
}

/**
 * The text of a unit with its two neighbours in the leaf, as a string of single bytes.
 *
 * @returns `null` for a unit that is alone in its leaf: nothing around it could prove that it was moved
 */
export function contextAt(columns: ContainerColumns, ordinal: number): string | null {
  const hasPrevious = columns.leafStarts[ordinal] !== 1;
  const hasNext = ordinal + 1 < columns.count && columns.leafStarts[ordinal + 1] !== 1;
  if (!hasPrevious && !hasNext) return null;
  const previous = hasPrevious ? textAt(columns, ordinal - 1) : NO_NEIGHBOUR;
  const next = hasNext ? textAt(columns, ordinal + 1) : NO_NEIGHBOUR;
  return previous + textAt(columns, ordinal) + next;
}

const STEP_ROWS = 5000;

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
    for (let first = 0; first < count; first += STEP_ROWS) {
      const last = first + STEP_ROWS - 1;
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
