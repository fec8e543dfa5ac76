import {
  type ChangedContainer,
  type Comparison,
  type ContainerSide,
  type Side,
  storePairs,
} from './comparison.ts';
import { matchLoosely, noMatches } from './match-units.ts';
import { UNIT_ID_BYTES } from '../../container/parsed-container.ts';
import { TEXT_BYTES, type UnitColumns } from './unit-columns.ts';

const STEP_ROWS = 5000;

interface LeftColumns extends UnitColumns {
  count: number;
  readonly ordinals: Int32Array;
  /** 1 for a unit whose text occurs once in the file on both sides. */
  readonly isSingle: Uint8Array;
}

/** Pairs the units of a file that are left over: `unique`, then `changed`. The others are new or were removed. */
export function* matchLeftovers(
  comparison: Comparison,
  { old, now }: ChangedContainer,
): Generator<void, void> {
  const oldUnits = yield* readLeftovers(comparison, 'old', old);
  const newUnits = yield* readLeftovers(comparison, 'new', now);
  const matches = noMatches(oldUnits, newUnits);
  yield* matchLoosely(oldUnits, newUnits, { old: oldUnits.isSingle, now: newUnits.isSingle }, matches);
  if (old !== null && now !== null) {
    const sideOf = ({ position }: ContainerSide, columns: LeftColumns) => ({
      columns,
      position,
      ordinalOf: (unit: number): number => columns.ordinals[unit] ?? -1,
    });
    yield* storePairs(comparison, sideOf(old, oldUnits), sideOf(now, newUnits), matches);
  }
  const { counts } = comparison;
  if (now !== null) {
    const isLeft = (unit: number): boolean => matches.oldUnits[unit] === -1;
    counts.new += yield* storeRuns(comparison, 'new', now.position, newUnits, isLeft);
  }
  if (old !== null) {
    const isLeft = (unit: number): boolean => matches.isTaken[unit] === 0;
    counts.removed += yield* storeRuns(comparison, 'old', old.position, oldUnits, isLeft);
  }
}

function* readLeftovers(
  { prepare }: Comparison,
  side: Side,
  container: ContainerSide | null,
): Generator<void, LeftColumns> {
  const condition = 'side = ? AND position = ? AND ordinal > ?';
  const position = container?.position ?? -1;
  const found = prepare(`SELECT count(*) AS units FROM leftover WHERE ${condition}`);
  const units = Number(found.get(side, position, -1)?.['units']);
  const columns: LeftColumns = {
    count: 0,
    ordinals: new Int32Array(units),
    unitIds: Buffer.alloc(units * UNIT_ID_BYTES),
    texts: Buffer.alloc(units * TEXT_BYTES),
    isSingle: new Uint8Array(units),
  };
  const page = prepare(
    `SELECT ordinal, unit_id, single_text FROM leftover WHERE ${condition} ORDER BY ordinal LIMIT ${STEP_ROWS}`,
  );
  while (columns.count < units) {
    const last = columns.count === 0 ? -1 : (columns.ordinals[columns.count - 1] ?? -1);
    for (const row of page.iterate(side, position, last)) {
      const unit = columns.count;
      const text = row['single_text'] as Uint8Array | null;
      columns.ordinals[unit] = Number(row['ordinal']);
      columns.unitIds.set(row['unit_id'] as Uint8Array, unit * UNIT_ID_BYTES);
      if (text !== null) columns.texts.set(text, unit * TEXT_BYTES);
      columns.isSingle[unit] = Number(text !== null);
      columns.count += 1;
    }
    yield;
  }
  return columns;
}

function* storeRuns(
  { prepare, rows, indexId }: Comparison,
  side: Side,
  position: number,
  { ordinals, count }: LeftColumns,
  isLeft: (unit: number) => boolean,
): Generator<void, number> {
  const insert = prepare(`INSERT INTO pair VALUES (?, ?, ?, ?, ?, ?, NULL, NULL, NULL)`);
  const tier = side === 'new' ? 'new' : 'removed';
  let total = 0;
  for (let first = 0; first < count;) {
    let units = 0;
    const ordinal = ordinals[first] ?? -1;
    while (first + units < count && isLeft(first + units) && ordinals[first + units] === ordinal + units) {
      units += 1;
    }
    if (units > 0) rows.add(insert, indexId, side, position, ordinal, units, tier);
    yield* rows.drain();
    total += units;
    first += Math.max(units, 1);
  }
  return total;
}
