import { CARRY_TIERS } from '../../../contract/schemas/vocabulary.ts';
import { SOURCE_DIGEST_BYTES, UNIT_ID_BYTES } from '../container/parsed-container.ts';
import { contextAt, sourceDigestAt, unitIdAt, type UnitColumns } from './unit-columns.ts';

/**
 * How a unit follows one of the previous release: `same` has its id and text, `moved` its text and both neighbours' texts,
 * `unique` a text that occurs once in the container on both sides, `changed` its id and another text.
 */
export type CarryTier = (typeof CARRY_TIERS)[number];

/** The pairs of units of one container. */
export interface UnitMatches {
  /** By new ordinal: the ordinal of the old unit that it follows, or -1. */
  readonly oldOrdinals: Int32Array;
  /** By new ordinal: the index into {@link CARRY_TIERS}; only where there is an old ordinal. */
  readonly tiers: Uint8Array;
  /** By old ordinal: 1 where a new unit follows it. */
  readonly isTaken: Uint8Array;
}

/** A way to find units that belong together. */
interface Key {
  /** Equal for units that belong together; `null` for a unit that takes no part. */
  readonly at: (columns: UnitColumns, ordinal: number) => string | null;
  /** A byte that is equal for equal keys; keys are divided into parts by it. */
  readonly byteAt: (columns: UnitColumns, ordinal: number) => number;
}

/** Units between two pauses. */
const STEP_UNITS = 20_000;
/** About this many keys are held at a time: those of a larger container are taken in parts. */
const PART_UNITS = 65_536;
const MAX_PARTS = 256;

const unitIdByte = ({ unitIds }: UnitColumns, ordinal: number): number =>
  unitIds[ordinal * UNIT_ID_BYTES] ?? 0;
const textByte = ({ sourceDigests }: UnitColumns, ordinal: number): number =>
  sourceDigests[ordinal * SOURCE_DIGEST_BYTES] ?? 0;

const ID_AND_TEXT: Key = {
  at: (columns, ordinal) => unitIdAt(columns, ordinal) + sourceDigestAt(columns, ordinal),
  byteAt: unitIdByte,
};
const CONTEXT: Key = { at: contextAt, byteAt: textByte };
const UNIT_ID: Key = { at: unitIdAt, byteAt: unitIdByte };

/**
 * Pairs the units of a container with those of its previous content: first `same` for all, then `moved` and `unique` over the
 * others, then `changed`. Units with an equal key are paired in their order. Pauses after a bounded number of units.
 */
export function* matchUnits(old: UnitColumns, now: UnitColumns): Generator<void, UnitMatches> {
  const matches: UnitMatches = {
    oldOrdinals: new Int32Array(now.count).fill(-1),
    tiers: new Uint8Array(now.count),
    isTaken: new Uint8Array(old.count),
  };
  if (old.count === 0 || now.count === 0) return matches;
  const sides = { old, now, matches };
  yield* pairByKey(sides, 'same', ID_AND_TEXT);
  yield* pairByKey(sides, 'moved', CONTEXT);
  const single = yield* textsThatOccurOnce(sides);
  yield* pairByKey(sides, 'unique', {
    at: (columns, ordinal) => {
      const text = sourceDigestAt(columns, ordinal);
      return single.has(text) ? text : null;
    },
    byteAt: textByte,
  });
  yield* pairByKey(sides, 'changed', UNIT_ID);
  return matches;
}

interface Sides {
  readonly old: UnitColumns;
  readonly now: UnitColumns;
  readonly matches: UnitMatches;
}

/** Pairs units that are left over on both sides, the first with the first of equal keys, the second with the second. */
function* pairByKey(sides: Sides, tier: CarryTier, key: Key): Generator<void, void> {
  const parts = Math.min(MAX_PARTS, Math.ceil(sides.old.count / PART_UNITS));
  const following = new Int32Array(sides.old.count).fill(-1);
  for (let part = 0; part < parts; part += 1) {
    const first = yield* chainOld(sides, key, following, { part, parts });
    if (first.size > 0)
      yield* pairNew(sides, CARRY_TIERS.indexOf(tier), key, { first, following, part, parts });
  }
}

interface Part {
  readonly part: number;
  readonly parts: number;
}

/** Chains the old units of each key through `following`; returns the first of each chain. */
function* chainOld(
  { old, matches: { isTaken } }: Sides,
  key: Key,
  following: Int32Array,
  { part, parts }: Part,
): Generator<void, Map<string, number>> {
  const first = new Map<string, number>();
  for (let ordinal = old.count - 1; ordinal >= 0; ordinal -= 1) {
    if (ordinal % STEP_UNITS === 0) yield;
    if (isTaken[ordinal] === 1 || key.byteAt(old, ordinal) % parts !== part) continue;
    const found = key.at(old, ordinal);
    if (found === null) continue;
    following[ordinal] = first.get(found) ?? -1;
    first.set(found, ordinal);
  }
  return first;
}

function* pairNew(
  { now, matches: { oldOrdinals, tiers, isTaken } }: Sides,
  tier: number,
  key: Key,
  { first, following, part, parts }: Part & { first: Map<string, number>; following: Int32Array },
): Generator<void, void> {
  for (let ordinal = 0; ordinal < now.count; ordinal += 1) {
    if (ordinal % STEP_UNITS === 0) yield;
    if (oldOrdinals[ordinal] !== -1 || key.byteAt(now, ordinal) % parts !== part) continue;
    const found = key.at(now, ordinal);
    const match = found === null ? -1 : (first.get(found) ?? -1);
    if (found === null || match === -1) continue;
    oldOrdinals[ordinal] = match;
    tiers[ordinal] = tier;
    isTaken[match] = 1;
    first.set(found, following[match] ?? -1);
  }
}

/** The texts of units that are left over and occur once in the whole container, before and now. */
function* textsThatOccurOnce({ old, now, matches }: Sides): Generator<void, ReadonlySet<string>> {
  const { oldOrdinals } = matches;
  const counts = new Map<string, { old: number; now: number }>();
  for (let ordinal = 0; ordinal < now.count; ordinal += 1) {
    if (ordinal % STEP_UNITS === 0) yield;
    if (oldOrdinals[ordinal] === -1) counts.set(sourceDigestAt(now, ordinal), { old: 0, now: 0 });
  }
  if (counts.size === 0) return new Set();
  for (const [side, columns] of [
    ['old', old],
    ['now', now],
  ] as const) {
    for (let ordinal = 0; ordinal < columns.count; ordinal += 1) {
      if (ordinal % STEP_UNITS === 0) yield;
      const count = counts.get(sourceDigestAt(columns, ordinal));
      if (count !== undefined) count[side] += 1;
    }
  }
  return new Set([...counts].filter(([, count]) => count.old === 1 && count.now === 1).map(([text]) => text));
}
