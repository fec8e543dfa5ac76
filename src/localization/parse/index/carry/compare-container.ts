import { type ChangedContainer, type Comparison, type Side, storePairs } from './comparison.ts';
import { findSingles, matchExactly } from './match-units.ts';
import { contextAt, NO_UNITS, textAt, unitIdAt, type ContainerColumns } from './unit-columns.ts';

/** Pairs the units of a file that stayed or moved within it, and stores the others as left over. */
export function* compareContainer(
  comparison: Comparison,
  { old, now }: ChangedContainer,
): Generator<void, void> {
  const { readColumns } = comparison;
  const oldUnits = old === null ? NO_UNITS : yield* readColumns(old.contentId, old.units);
  const newUnits = now === null ? NO_UNITS : yield* readColumns(now.contentId, now.units);
  const matches = yield* matchExactly(oldUnits, newUnits);
  const singles = yield* findSingles(oldUnits, newUnits, matches);
  if (old !== null && now !== null) {
    const itself = (ordinal: number): number => ordinal;
    yield* storePairs(
      comparison,
      { columns: oldUnits, position: old.position, ordinalOf: itself },
      { columns: newUnits, position: now.position, ordinalOf: itself },
      matches,
    );
  }
  if (now !== null) {
    const isLeft = (ordinal: number): boolean => matches.oldUnits[ordinal] === -1;
    yield* storeLeftovers(comparison, {
      side: 'new',
      ...now,
      columns: newUnits,
      isLeft,
      isSingle: singles.now,
    });
  }
  if (old !== null) {
    const isLeft = (ordinal: number): boolean => matches.isTaken[ordinal] === 0;
    yield* storeLeftovers(comparison, {
      side: 'old',
      ...old,
      columns: oldUnits,
      isLeft,
      isSingle: singles.old,
    });
  }
}

interface LeftUnits {
  readonly side: Side;
  readonly position: number;
  readonly columns: ContainerColumns;
  readonly isLeft: (ordinal: number) => boolean;
  readonly isSingle: Uint8Array;
}

function* storeLeftovers(
  { prepare, rows, contexts }: Comparison,
  { side, position, columns, isLeft, isSingle }: LeftUnits,
): Generator<void, void> {
  const insert = prepare('INSERT INTO leftover VALUES (?, ?, ?, ?, ?, ?)');
  for (let ordinal = 0; ordinal < columns.count; ordinal += 1) {
    if (!isLeft(ordinal)) continue;
    const unitId = Buffer.from(unitIdAt(columns, ordinal), 'latin1');
    const singleText = isSingle[ordinal] === 1 ? Buffer.from(textAt(columns, ordinal), 'latin1') : null;
    const found = contextAt(columns, ordinal);
    const context = found === null ? null : Buffer.from(found, 'latin1');
    if (context !== null) contexts.add(side, context);
    rows.add(insert, side, position, ordinal, unitId, singleText, context);
    yield* rows.drain();
  }
}
