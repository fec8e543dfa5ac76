import { concordanceMatcher } from '../../../domain/memory/inexact-match.ts';
import { orderMatches, type MemoryMatch } from '../../../domain/memory/memory-match.ts';
import type { LanguagePair } from '../../../domain/memory/memory-record.ts';
import { codePointsOf, foldForSearch } from '../../../domain/memory/normalize-text.ts';
import { normalText } from '../../../domain/text/normal-text.ts';
import { TRIGRAM_LENGTH } from '../../../domain/memory/trigrams.ts';
import type { ReadableDatabase } from '../../other-database.ts';
import { MATCH_COLUMNS, matchRecordOf } from './record-rows.ts';
import { createShortTextScan } from './short-text-scan.ts';
import { allOf, candidates } from './text-index.ts';

/** A text to search within sources and targets. */
export interface ConcordanceQuery extends LanguagePair {
  readonly text: string;
  readonly limit: number;
}

interface ConcordanceAnswer {
  /** The shortest texts first. */
  readonly matches: MemoryMatch[];
  /** Whether a search for one or two characters ended before it had read every record. */
  readonly isTruncated: boolean;
}

/** Most records with a text of one or two characters that a scan finds. */
const MOST_SCANNED = 2000;
/** Most records that are read by their first characters. */
const MOST_BY_PREFIX = 20_000;
/** The last code point: it ends the range of the texts with one beginning. */
const LAST_CODE_POINT = '\u{10FFFF}';

/**
 * Creates the concordance of a file: it finds records whose source or target contains a text. A text of one or two characters is
 * too short for the index: it is found at the beginning of all sources and targets, and anywhere in those that a scan of bounded
 * time reads, the newest first.
 *
 * @param now milliseconds of a clock that never goes back, for the scan
 */
export function createConcordance(
  database: ReadableDatabase,
  now?: () => number,
): (query: ConcordanceQuery) => ConcordanceAnswer {
  const scan = createShortTextScan(database, now);
  const ofPair = `JOIN pair p USING (pair_id)
    WHERE p.source_language = ? AND p.target_language = ? AND r.state IN ('trusted', 'candidate')`;
  const byTrigrams = (['source_search', 'target_search'] as const).map((table) =>
    database.prepare(
      `SELECT ${MATCH_COLUMNS} FROM (${candidates(table)}) s CROSS JOIN record r ON r.id = s.rowid ${ofPair}`,
    ),
  );
  const byPrefix = ['source_prefix', 'target_prefix'].map((column) =>
    database.prepare(
      `SELECT ${MATCH_COLUMNS} FROM (SELECT id FROM record WHERE ${column} BETWEEN ? AND ? LIMIT ${MOST_BY_PREFIX}) s
       CROSS JOIN record r ON r.id = s.id ${ofPair}`,
    ),
  );
  return ({ text, limit, ...pair }) => {
    const normalized = normalText(text);
    const folded = foldForSearch(normalized);
    const isShort = codePointsOf(folded).length < TRIGRAM_LENGTH;
    const match = concordanceMatcher(text);
    const found = new Map<string, MemoryMatch>();
    const take = (row: Readonly<Record<string, unknown>>): boolean => {
      const record = matchRecordOf(row);
      const each = found.has(record.record_id) ? null : match(record);
      if (each !== null) found.set(record.record_id, each);
      return found.size < MOST_SCANNED;
    };
    const isTruncated = isShort && !scan({ ...pair, text: normalized, take });
    for (const statement of isShort ? byPrefix : byTrigrams) {
      const key = isShort ? [folded, folded + LAST_CODE_POINT] : [allOf(folded)];
      for (const row of statement.iterate(...key, pair.source_language, pair.target_language)) take(row);
    }
    return { matches: orderMatches([...found.values()]).slice(0, limit), isTruncated };
  };
}
