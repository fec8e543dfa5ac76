import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { type ReadColumns, unitIdAt, type UnitColumns } from './unit-columns.ts';
import type { SQLInputValue } from 'node:sqlite';
import type { Statement } from '../../../../engine/database/checked-rows.ts';
import { CARRY_TIERS } from '../../../../contract/schemas/vocabulary.ts';
import type { UnitMatches } from './match-units.ts';

/** How many units of a release follow units of the previous one, and how; how many are new, and how many it lost. */
export interface CarryOverCounts {
  same: number;
  moved: number;
  unique: number;
  changed: number;
  new: number;
  removed: number;
}

/** A file of which the text is not as it was: the sides are of the previous release and of this one. */
export interface ChangedContainer {
  readonly old: ContainerSide | null;
  readonly now: ContainerSide | null;
}

export interface ContainerSide {
  readonly position: number;
  readonly contentId: number;
  readonly units: number;
}

export interface Comparison {
  readonly database: Database;
  readonly indexId: number;
  /** A release has many files, and SQLite's memory of a statement is freed with the next garbage collection only. */
  readonly prepare: StatementCache;
  readonly rows: RowBuffer;
  readonly readColumns: ReadColumns;
  readonly contexts: ContextFilter;
  readonly counts: CarryOverCounts;
}

const MAX_ROWS = 1000;

interface RowBuffer {
  add(statement: Statement, ...values: SQLInputValue[]): void;
  /** Writes the collected rows that fill a transaction, and pauses after each. */
  drain(): Generator<void, void>;
  flush(): Generator<void, void>;
}

export function createRowBuffer(database: Database): RowBuffer {
  let rows: { readonly statement: Statement; readonly values: SQLInputValue[] }[] = [];
  function* write(least: number): Generator<void, void> {
    let start = 0;
    for (; rows.length - start >= least; start += MAX_ROWS) {
      const batch = rows.slice(start, start + MAX_ROWS);
      database.transaction(() => {
        for (const { statement, values } of batch) statement.run(...values);
      });
      yield;
    }
    rows = rows.slice(start);
  }
  return {
    add: (statement, ...values) => {
      rows.push({ statement, values });
    },
    drain: () => write(MAX_ROWS),
    flush: () => write(1),
  };
}

type StatementCache = (sql: string) => Statement;

export function createStatementCache(database: Database): StatementCache {
  const statements = new Map<string, Statement>();
  return (sql) => {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = database.prepare(sql);
      statements.set(sql, statement);
    }
    return statement;
  };
}

export type Side = 'new' | 'old';

/** Tells which contexts cannot occur on a side. */
interface ContextFilter {
  add(side: Side, context: Uint8Array): void;
  /** False when the context was never added to the side; true when it was, and rarely when it was not. */
  mayHave(side: Side, context: Uint8Array): boolean;
}

/** 8 MiB for each side; with 3,000,000 contexts, 4 % of the others seem to be there too. */
const FILTER_BITS = 2 ** 26;

export function createContextFilter(): ContextFilter {
  const filters = { new: new Uint8Array(FILTER_BITS / 8), old: new Uint8Array(FILTER_BITS / 8) };
  return {
    add: (side, context) => {
      const bit = bitOf(context);
      const filter = filters[side];
      filter[bit >>> 3] = (filter[bit >>> 3] ?? 0) | (1 << (bit & 7));
    },
    mayHave: (side, context) => {
      const bit = bitOf(context);
      return ((filters[side][bit >>> 3] ?? 0) & (1 << (bit & 7))) !== 0;
    },
  };
}

/** From the first bytes of the text and of both neighbours. The multiplications distinguish a neighbour before from one after. */
function bitOf(context: Uint8Array): number {
  const third = context.length / 3;
  let hash = 0;
  for (let part = 0; part < 3; part += 1) {
    for (let byte = 0; byte < 4; byte += 1) hash = Math.imul(hash, 31) ^ (context[part * third + byte] ?? 0);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  }
  return (hash ^ (hash >>> 13)) & (FILTER_BITS - 1);
}

interface PairSide {
  readonly columns: UnitColumns;
  readonly position: number;
  /** The ordinal of a unit of the columns within the file. */
  readonly ordinalOf: (unit: number) => number;
}

/** Stores pairs: runs of `same` and of `changed`, whose ids are equal, and single rows of the others. Counts them. */
export function* storePairs(
  { prepare, rows, counts, indexId }: Comparison,
  old: PairSide,
  now: PairSide,
  matches: UnitMatches,
): Generator<void, void> {
  const { oldUnits, tiers } = matches;
  const insert = prepare(`INSERT INTO pair VALUES (?, 'new', ?, ?, ?, ?, ?, ?, ?)`);
  for (let first = 0; first < oldUnits.length;) {
    const oldFirst = oldUnits[first] ?? -1;
    const tier = CARRY_TIERS[tiers[first] ?? 0] ?? 'same';
    const keepsId = tier === 'same' || tier === 'changed';
    const units = oldFirst !== -1 && keepsId ? runLength(old, now, matches, first) : 1;
    if (oldFirst !== -1) {
      counts[tier] += units;
      const oldId = keepsId ? null : Buffer.from(unitIdAt(old.columns, oldFirst), 'latin1');
      const [ordinal, oldOrdinal] = [now.ordinalOf(first), old.ordinalOf(oldFirst)];
      rows.add(insert, indexId, now.position, ordinal, units, tier, old.position, oldOrdinal, oldId);
      yield* rows.drain();
    }
    first += units;
  }
}

/** How many units from one on follow consecutive old units with the same tier. */
function runLength(old: PairSide, now: PairSide, { oldUnits, tiers }: UnitMatches, first: number): number {
  const oldFirst = oldUnits[first] ?? -1;
  let units = 1;
  while (
    tiers[first + units] === tiers[first] &&
    oldUnits[first + units] === oldFirst + units &&
    now.ordinalOf(first + units) === now.ordinalOf(first) + units &&
    old.ordinalOf(oldFirst + units) === old.ordinalOf(oldFirst) + units
  ) {
    units += 1;
  }
  return units;
}
