import { UNIT_ID_BYTES } from '../container/parsed-container.ts';

/** The first bytes of a digest that prove the same text. More would only take memory. */
export const TEXT_BYTES = 16;
const NO_NEIGHBOUR = '\0'.repeat(TEXT_BYTES);

/** The columns of units that decide what is carried over. */
export interface UnitColumns {
  readonly count: number;
  /** {@link UNIT_ID_BYTES} for each unit. */
  readonly unitIds: Buffer;
  /** The first {@link TEXT_BYTES} of the source digest of each unit. */
  readonly texts: Buffer;
}

/** The columns of all units of a container, by ordinal. */
export interface ContainerColumns extends UnitColumns {
  /** 1 for the first unit of each leaf. */
  readonly leafStarts: Uint8Array;
}

/** No units: the other side of a container that is new or removed. */
export const NO_UNITS: ContainerColumns = {
  count: 0,
  unitIds: Buffer.alloc(0),
  texts: Buffer.alloc(0),
  leafStarts: new Uint8Array(0),
};

/** The id of a unit, as a string of single bytes. */
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
