import { CARRY_TIERS } from '../../../../contract/schemas/vocabulary.ts';
import { UNIT_ID_BYTES } from '../../container/parsed-container.ts';
import {
  contextAt,
  TEXT_BYTES,
  textAt,
  unitIdAt,
  type ContainerColumns,
  type UnitColumns,
} from './unit-columns.ts';

/**
 * How a unit follows one of the previous release: `same` has its id and text, `moved` its text and both neighbours' texts,
 * `unique` a text that occurs once in the container on both sides, `changed` its id and another text.
 */
export type CarryTier = (typeof CARRY_TIERS)[number];

export interface UnitMatches {
  /** By new unit: the old unit that it follows, or -1. */
  readonly oldUnits: Int32Array;
  /** By new unit: the index into {@link CARRY_TIERS}; only where there is an old unit. */
  readonly tiers: Uint8Array;
  /** By old unit: 1 where a new unit follows it. */
  readonly isTaken: Uint8Array;
}

/** 1 for each unit that is left over and whose text occurs once in its container, before and now. */
interface SingleTexts {
  readonly old: Uint8Array;
  readonly now: Uint8Array;
}

interface Key<T extends UnitColumns> {
  /** Equal for units that belong together; `null` for a unit that takes no part. */
  readonly at: (columns: T, unit: number) => string | null;
  /** A byte that is equal for equal keys; keys are divided into parts by it. */
  readonly byteAt: (columns: UnitColumns, unit: number) => number;
}

interface Sides<T extends UnitColumns> {
  readonly old: T;
  readonly now: T;
  readonly matches: UnitMatches;
}

const STEP_UNITS = 20_000;
/** About this many keys are held at a time: those of a larger container are taken in parts. */
const PART_UNITS = 65_536;
const MAX_PARTS = 256;

const unitIdByte = ({ unitIds }: UnitColumns, unit: number): number => unitIds[unit * UNIT_ID_BYTES] ?? 0;
const textByte = ({ texts }: UnitColumns, unit: number): number => texts[unit * TEXT_BYTES] ?? 0;

const ID_AND_TEXT: Key<UnitColumns> = {
  at: (columns, unit) => unitIdAt(columns, unit) + textAt(columns, unit),
  byteAt: unitIdByte,
};
const CONTEXT: Key<ContainerColumns> = { at: contextAt, byteAt: textByte };
const UNIT_ID: Key<UnitColumns> = { at: unitIdAt, byteAt: unitIdByte };

export function noMatches(old: UnitColumns, now: UnitColumns): UnitMatches {
  return {
    oldUnits: new Int32Array(now.count).fill(-1),
    tiers: new Uint8Array(now.count),
    isTaken: new Uint8Array(old.count),
  };
}

/**
 * Pairs the units of a container with those of its previous content: first `same` for all, then `moved` over the others.
 * Units with an equal key are paired in their order. Pauses after a bounded number of units.
 */
export function* matchExactly(old: ContainerColumns, now: ContainerColumns): Generator<void, UnitMatches> {
  const matches = noMatches(old, now);
  if (old.count === 0 || now.count === 0) return matches;
  const sides = { old, now, matches };
  yield* pairByKey(sides, 'same', ID_AND_TEXT);
  yield* pairByKey(sides, 'moved', CONTEXT);
  return matches;
}

/**
 * Pairs the units that {@link matchExactly} left over, here and in all other containers: `unique`, then `changed`. Adds to the
 * matches.
 *
 * @param singles from {@link findSingles}, by unit of these columns
 */
export function* matchLoosely(
  old: UnitColumns,
  now: UnitColumns,
  singles: SingleTexts,
  matches: UnitMatches,
): Generator<void, void> {
  if (old.count === 0 || now.count === 0) return;
  const sides = { old, now, matches };
  yield* pairByKey(sides, 'unique', {
    at: (columns, unit) => {
      const flags = columns === old ? singles.old : singles.now;
      return flags[unit] === 1 ? textAt(columns, unit) : null;
    },
    byteAt: textByte,
  });
  yield* pairByKey(sides, 'changed', UNIT_ID);
}

/** Pairs units that are left over on both sides, the first with the first of equal keys, the second with the second. */
function* pairByKey<T extends UnitColumns>(
  sides: Sides<T>,
  tier: CarryTier,
  key: Key<T>,
): Generator<void, void> {
  const parts = partsOf(sides.old.count);
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

function partsOf(units: number): number {
  return Math.min(MAX_PARTS, Math.ceil(units / PART_UNITS));
}

/** Chains the old units of each key through `following`; returns the first of each chain. */
function* chainOld<T extends UnitColumns>(
  { old, matches: { isTaken } }: Sides<T>,
  key: Key<T>,
  following: Int32Array,
  { part, parts }: Part,
): Generator<void, Map<string, number>> {
  const first = new Map<string, number>();
  for (let unit = old.count - 1; unit >= 0; unit -= 1) {
    if (unit % STEP_UNITS === 0) yield;
    if (isTaken[unit] === 1 || key.byteAt(old, unit) % parts !== part) continue;
    const found = key.at(old, unit);
    if (found === null) continue;
    following[unit] = first.get(found) ?? -1;
    first.set(found, unit);
  }
  return first;
}

function* pairNew<T extends UnitColumns>(
  { now, matches: { oldUnits, tiers, isTaken } }: Sides<T>,
  tier: number,
  key: Key<T>,
  { first, following, part, parts }: Part & { first: Map<string, number>; following: Int32Array },
): Generator<void, void> {
  for (let unit = 0; unit < now.count; unit += 1) {
    if (unit % STEP_UNITS === 0) yield;
    if (oldUnits[unit] !== -1 || key.byteAt(now, unit) % parts !== part) continue;
    const found = key.at(now, unit);
    const match = found === null ? -1 : (first.get(found) ?? -1);
    if (found === null || match === -1) continue;
    oldUnits[unit] = match;
    tiers[unit] = tier;
    isTaken[match] = 1;
    first.set(found, following[match] ?? -1);
  }
}

/** Two bits for each side: the text occurs never, once or more often there. */
const OLD_SHIFT = 0;
const NEW_SHIFT = 2;
const ONCE_ON_BOTH_SIDES = 0b0101;

/** Finds the left-over units whose text occurs once in the entire container, before and now. Holds one part of the texts at a time. */
export function* findSingles(
  old: UnitColumns,
  now: UnitColumns,
  { oldUnits, isTaken }: UnitMatches,
): Generator<void, SingleTexts> {
  const singles: SingleTexts = { old: new Uint8Array(old.count), now: new Uint8Array(now.count) };
  if (old.count === 0) return singles;
  const parts = partsOf(now.count);
  for (let part = 0; part < parts; part += 1) {
    const counts = new Map<string, number>();
    yield* eachOfPart(now, { part, parts }, (unit) => {
      if (oldUnits[unit] === -1) counts.set(textAt(now, unit), 0);
    });
    if (counts.size === 0) continue;
    yield* countTexts(counts, old, OLD_SHIFT, { part, parts });
    yield* countTexts(counts, now, NEW_SHIFT, { part, parts });
    yield* eachOfPart(now, { part, parts }, (unit) => {
      if (oldUnits[unit] === -1 && counts.get(textAt(now, unit)) === ONCE_ON_BOTH_SIDES)
        singles.now[unit] = 1;
    });
    yield* eachOfPart(old, { part, parts }, (unit) => {
      if (isTaken[unit] === 0 && counts.get(textAt(old, unit)) === ONCE_ON_BOTH_SIDES) singles.old[unit] = 1;
    });
  }
  return singles;
}

function* countTexts(
  counts: Map<string, number>,
  columns: UnitColumns,
  shift: number,
  part: Part,
): Generator<void, void> {
  yield* eachOfPart(columns, part, (unit) => {
    const text = textAt(columns, unit);
    const count = counts.get(text);
    if (count !== undefined && ((count >> shift) & 3) < 2) counts.set(text, count + (1 << shift));
  });
}

function* eachOfPart(
  columns: UnitColumns,
  { part, parts }: Part,
  visit: (unit: number) => void,
): Generator<void, void> {
  for (let unit = 0; unit < columns.count; unit += 1) {
    if (unit % STEP_UNITS === 0) yield;
    if (textByte(columns, unit) % parts === part) visit(unit);
  }
}
