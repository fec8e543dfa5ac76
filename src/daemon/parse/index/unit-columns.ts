import { SOURCE_DIGEST_BYTES, UNIT_ID_BYTES } from '../container/parsed-container.ts';

/** The first bytes of a neighbour's digest that prove the same surroundings. */
const NEIGHBOUR_BYTES = 16;
const NO_NEIGHBOUR = '\0'.repeat(NEIGHBOUR_BYTES);

/** The columns of a container's units that decide what is carried over, by ordinal. */
export interface UnitColumns {
  readonly count: number;
  /** {@link UNIT_ID_BYTES} for each unit. */
  readonly unitIds: Buffer;
  /** {@link SOURCE_DIGEST_BYTES} for each unit. */
  readonly sourceDigests: Buffer;
  /** 1 for the first unit of each leaf. */
  readonly leafStarts: Uint8Array;
}

/** No units: the other side of a container that is new or removed. */
export const NO_UNITS: UnitColumns = {
  count: 0,
  unitIds: Buffer.alloc(0),
  sourceDigests: Buffer.alloc(0),
  leafStarts: new Uint8Array(0),
};

/** The id of a unit, as a string of single bytes. */
export function unitIdAt({ unitIds }: UnitColumns, ordinal: number): string {
  return unitIds.toString('latin1', ordinal * UNIT_ID_BYTES, (ordinal + 1) * UNIT_ID_BYTES);
}

/** The digest of a unit's source text, as a string of single bytes. */
export function sourceDigestAt({ sourceDigests }: UnitColumns, ordinal: number): string {
  return sourceDigests.toString('latin1', ordinal * SOURCE_DIGEST_BYTES, (ordinal + 1) * SOURCE_DIGEST_BYTES);
}

/**
 * The text of a unit with its two neighbours in the leaf, as a string of single bytes.
 *
 * @returns `null` for a unit that is alone in its leaf: nothing around it could prove that it was moved
 */
export function contextAt(columns: UnitColumns, ordinal: number): string | null {
  const hasPrevious = columns.leafStarts[ordinal] !== 1;
  const hasNext = ordinal + 1 < columns.count && columns.leafStarts[ordinal + 1] !== 1;
  if (!hasPrevious && !hasNext) return null;
  const previous = hasPrevious ? neighbourAt(columns, ordinal - 1) : NO_NEIGHBOUR;
  const next = hasNext ? neighbourAt(columns, ordinal + 1) : NO_NEIGHBOUR;
  return previous + sourceDigestAt(columns, ordinal) + next;
}

function neighbourAt({ sourceDigests }: UnitColumns, ordinal: number): string {
  const start = ordinal * SOURCE_DIGEST_BYTES;
  return sourceDigests.toString('latin1', start, start + NEIGHBOUR_BYTES);
}
