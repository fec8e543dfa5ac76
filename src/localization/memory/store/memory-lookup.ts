import { judgeExact } from '../../../domain/memory/exact-match.ts';
import {
  fuzzyMatcher,
  numbersMatch,
  similarLengths,
  widthMatch,
} from '../../../domain/memory/inexact-match.ts';
import { orderMatches, type MatchRecord, type MemoryMatch } from '../../../domain/memory/memory-match.ts';
import type { LanguagePair } from '../../../domain/memory/memory-record.ts';
import { comparedCodePoints, foldWidth } from '../../../domain/memory/normalize-text.ts';
import { searchedTrigrams } from '../../../domain/memory/trigrams.ts';
import type { OpenMemory } from './memory-database.ts';
import { MATCH_COLUMNS, matchRecordOf } from './record-rows.ts';
import { anyOf, candidates, chooseTrigrams } from './text-index.ts';
import { identityBytes, sourceKeysOf, variantKeysOf, type SourceKeys } from './text-keys.ts';

export interface MemoryLookup extends LanguagePair {
  readonly source_text: string;
  readonly context: Readonly<Record<string, string>>;
  /**
   * `trusted` finds confirmed records with an equal source. `exact` finds candidates too, and is fast when the context or a default
   * record decides. `all` finds similar ones, too, and `trusted_similar` only those of them that someone confirmed.
   */
  readonly depth: 'trusted' | 'exact' | 'all' | 'trusted_similar';
  readonly limit: number;
}

/** Longest text, in code points, to which similar ones are searched. Longer ones match when they are equal. */
const LONGEST_FUZZY = 2000;
/** Most records of other contexts, and of one variant, that are looked at. */
const MOST_VARIANTS = 64;

const OWN = `SELECT ${MATCH_COLUMNS} FROM record r WHERE identity = ? AND state = 'trusted' LIMIT ${MOST_VARIANTS}`;
const DEFAULTS = `SELECT ${MATCH_COLUMNS} FROM record r WHERE source_key = ? AND is_default = 1 LIMIT ${MOST_VARIANTS}`;
const ALL = `SELECT ${MATCH_COLUMNS} FROM record r WHERE source_key = ? AND state = ? LIMIT ?`;
const IS_KNOWN = `SELECT 1 FROM record WHERE source_key = ? AND state = 'trusted' LIMIT 1`;
// A source whose width differs from none has one key for both.
const BY_WIDTH = [variants('width_key = ? AND width_key <> source_key'), variants('source_key = ?')];
const BY_NUMBERS = variants('numbers_key = ?');
const SIMILAR = `SELECT ${MATCH_COLUMNS} FROM (${candidates('source_search')}) s CROSS JOIN record r ON r.id = s.rowid
  WHERE r.length BETWEEN ? AND ? AND r.state IN ('trusted', 'candidate')
    AND r.pair_id = (SELECT pair_id FROM pair WHERE source_language = ? AND target_language = ?)`;

function variants(condition: string): string {
  return `SELECT ${MATCH_COLUMNS} FROM record r
    WHERE ${condition} AND state IN ('trusted', 'candidate') LIMIT ${MOST_VARIANTS}`;
}

/** Finds the matches of a text, the best first. */
export function findMatches(memory: OpenMemory, lookup: MemoryLookup): MemoryMatch[] {
  const keys = sourceKeysOf(lookup, lookup.source_text, lookup.context);
  const exact = findExact(memory, keys, lookup);
  if (!findsSimilar(lookup)) return orderMatches(exact).slice(0, lookup.limit);
  const found = new Map<string, MemoryMatch>();
  for (const match of [
    ...exact,
    ...findVariants(memory, keys, lookup),
    ...findSimilar(memory, keys, lookup),
  ]) {
    if (!found.has(match.record.record_id)) found.set(match.record.record_id, match);
  }
  const wanted = [...found.values()].filter(
    ({ record }) => lookup.depth === 'all' || record.state === 'trusted',
  );
  return orderMatches(wanted).slice(0, lookup.limit);
}

/** Whether a look-up also finds records whose source is not equal. */
export function findsSimilar({ depth }: { readonly depth: MemoryLookup['depth'] }): boolean {
  return depth === 'all' || depth === 'trusted_similar';
}

/** Finds the matches of several texts in one state of the file. The way to the file is paid once, not for each text. */
export function findAllMatches(memory: OpenMemory, lookups: readonly MemoryLookup[]): MemoryMatch[][] {
  memory.sql('BEGIN').run();
  try {
    return lookups.map((lookup) => findMatches(memory, lookup));
  } finally {
    memory.sql('COMMIT').run();
  }
}

function findExact({ sql }: OpenMemory, keys: SourceKeys, lookup: MemoryLookup): MemoryMatch[] {
  const { normalized, contextKey, sourceKey } = keys;
  const { depth, limit } = lookup;
  if (depth === 'trusted' && sql(IS_KNOWN).get(sourceKey) === undefined) return [];
  const equal = (rows: readonly Record<string, unknown>[]): MatchRecord[] =>
    rows.map(matchRecordOf).filter(({ source_text }) => source_text === normalized);
  const sameContext = contextKey === '' ? [] : equal(sql(OWN).all(identityBytes(lookup, keys)));
  const deciding = sameContext.length > 0 ? sameContext : equal(sql(DEFAULTS).all(sourceKey));
  if (!findsSimilar(lookup) && deciding.length > 0) {
    return judgeExact({ contextKey, records: deciding, isComplete: true });
  }
  const trusted = sql(ALL).all(sourceKey, 'trusted', MOST_VARIANTS + 1);
  const records = new Map<string, MatchRecord>();
  const proposed = depth === 'trusted' ? [] : equal(sql(ALL).all(sourceKey, 'candidate', limit));
  const others = [...equal(trusted), ...proposed];
  for (const record of [...deciding, ...equal(sql(DEFAULTS).all(sourceKey)), ...others]) {
    records.set(record.record_id, record);
  }
  return judgeExact({
    contextKey,
    records: [...records.values()],
    isComplete: trusted.length <= MOST_VARIANTS,
  });
}

function findVariants(
  { sql }: OpenMemory,
  { normalized, sourceKey }: SourceKeys,
  lookup: MemoryLookup,
): MemoryMatch[] {
  const { widthKey, numbersKey } = variantKeysOf(lookup, normalized);
  const folded = foldWidth(normalized);
  const other = (record: MatchRecord): boolean => record.source_text !== normalized;
  const width = BY_WIDTH
    // Records with the same source are left out below.
    .filter((_, index) => index === 0 || widthKey !== sourceKey)
    .flatMap((statement) => sql(statement).all(widthKey))
    .map(matchRecordOf)
    .filter((record) => other(record) && foldWidth(record.source_text) === folded)
    .map((record) => widthMatch(record));
  const numbered =
    numbersKey === null ? [] : sql(BY_NUMBERS).all(numbersKey).map(matchRecordOf).filter(other);
  const numbers = numbered
    .map((record) => numbersMatch(normalized, record))
    .filter((match) => match !== null);
  return [...width, ...numbers];
}

function findSimilar(
  memory: OpenMemory,
  { normalized, contextKey }: SourceKeys,
  { source_language, target_language }: MemoryLookup,
): MemoryMatch[] {
  const { length } = comparedCodePoints(normalized);
  if (length > LONGEST_FUZZY) return [];
  const trigrams = chooseTrigrams(memory, searchedTrigrams(normalized));
  const { least, most } = similarLengths(length);
  const match = fuzzyMatcher(normalized, contextKey);
  const matches: MemoryMatch[] = [];
  const rows = memory.sql(SIMILAR).iterate(anyOf(trigrams), least, most, source_language, target_language);
  for (const row of rows) {
    const record = matchRecordOf(row);
    const found = record.source_text === normalized ? null : match(record);
    if (found !== null) matches.push(found);
  }
  return matches;
}
