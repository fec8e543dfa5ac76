import { concordanceMatcher } from '../../../domain/memory/inexact-match.ts';
import { orderMatches, type MemoryMatch } from '../../../domain/memory/memory-match.ts';
import type { LanguagePair } from '../../../domain/memory/memory-record.ts';
import { codePointsOf, foldForSearch } from '../../../domain/memory/normalize-text.ts';
import { normalText } from '../../../domain/text/normal-text.ts';
import { TRIGRAM_LENGTH, allTrigrams } from '../../../domain/memory/trigrams.ts';
import type { OpenMemory } from './memory-database.ts';
import { MATCH_COLUMNS, matchRecordOf } from './record-rows.ts';
import { candidates } from './text-index.ts';

export interface ConcordanceQuery extends LanguagePair {
  readonly text: string;
  readonly limit: number;
}

/** Most records with a text of one or two characters that a scan finds. */
const MOST_SCANNED = 2000;
/** Most records that are read by their first characters. */
const MOST_BY_PREFIX = 20_000;
/** The last code point: it ends the range of the texts with one beginning. */
const LAST_CODE_POINT = '\u{10FFFF}';

const OF_PAIR = `JOIN pair p USING (pair_id)
  WHERE p.source_language = ? AND p.target_language = ? AND r.state IN ('trusted', 'candidate')`;
const BY_TRIGRAMS = (['source_search', 'target_search'] as const).map(
  (table) =>
    `SELECT ${MATCH_COLUMNS} FROM (${candidates(table)}) s CROSS JOIN record r ON r.id = s.rowid ${OF_PAIR}`,
);
const BY_PREFIX = ['source_prefix', 'target_prefix'].map(
  (column) =>
    `SELECT ${MATCH_COLUMNS} FROM (SELECT id FROM record WHERE ${column} BETWEEN ? AND ? LIMIT ${MOST_BY_PREFIX}) s
     CROSS JOIN record r ON r.id = s.id ${OF_PAIR}`,
);

/**
 * Finds records whose source or target contains a text, the shortest texts first. A text of one or two characters is too short for
 * the index: it is found at the beginning of all sources and targets, and anywhere in those that a scan of bounded time reads, the
 * newest first.
 *
 * @param now milliseconds of a clock that never goes back, for the scan
 * @returns with `isTruncated`, whether that scan ended before it had read every record
 */
export function searchTexts(
  memory: OpenMemory,
  { text, limit, ...pair }: ConcordanceQuery,
  now: () => number = () => performance.now(),
): { readonly matches: MemoryMatch[]; readonly isTruncated: boolean } {
  const normalized = normalText(text);
  const folded = foldForSearch(normalized);
  const isShort = codePointsOf(folded).length < TRIGRAM_LENGTH;
  const match = concordanceMatcher(text);
  const found = new Map<string, MemoryMatch>();
  const take = (row: Row): boolean => {
    const record = matchRecordOf(row);
    const each = found.has(record.record_id) ? null : match(record);
    if (each !== null) found.set(record.record_id, each);
    return found.size < MOST_SCANNED;
  };
  const isTruncated = isShort && !scanShortText(memory, { ...pair, text: normalized, take }, now);
  const key = isShort ? [folded, folded + LAST_CODE_POINT] : [allTrigrams(folded)];
  for (const statement of isShort ? BY_PREFIX : BY_TRIGRAMS) {
    const rows = memory.sql(statement).iterate(...key, pair.source_language, pair.target_language);
    for (const row of rows) take(row);
  }
  return { matches: orderMatches([...found.values()]).slice(0, limit), isTruncated };
}

type Row = Readonly<Record<string, unknown>>;

/** Records that one step of a scan reads. A step takes some ten milliseconds. */
const READ_TOGETHER = 5000;
/** Milliseconds after which a scan begins no other step, so that other calls of the thread do not wait for long. */
const SCAN_MS = 200;

interface ShortTextScan extends LanguagePair {
  /** As the store normalizes it. */
  readonly text: string;
  /** Takes a record, as a row of the columns of a match. It returns false when it wants no other one. */
  readonly take: (row: Row) => boolean;
}

/**
 * Looks for a text that is too short for the index: it reads records, the newest first, for a bounded time.
 *
 * @returns whether it has read every record
 */
function scanShortText(
  { sql }: OpenMemory,
  { text, take, source_language, target_language }: ShortTextScan,
  now: () => number,
): boolean {
  const end = now() + SCAN_MS;
  const spellings = spellingsOf(text);
  const holds = spellings.map(() => 'instr(r.source_text, ?) OR instr(r.target_text, ?)').join(' OR ');
  const step = sql(
    `SELECT ${MATCH_COLUMNS} FROM record r JOIN pair p USING (pair_id) WHERE r.id > ? AND r.id <= ?
     AND p.source_language = ? AND p.target_language = ? AND r.state IN ('trusted', 'candidate') AND (${holds})
     ORDER BY r.id DESC`,
  );
  const wanted = [source_language, target_language, ...spellings.flatMap((each) => [each, each])];
  const last = sql('SELECT coalesce(max(id), 0) AS id FROM record').get()?.['id'] as number;
  for (let upTo = last; upTo > 0; upTo -= READ_TOGETHER) {
    if (now() >= end) return false;
    for (const row of step.iterate(upTo - READ_TOGETHER, upTo, ...wanted)) if (!take(row)) return false;
  }
  return true;
}

/** Distance from an ASCII character to its full-width form. Source: Unicode, "Halfwidth and Fullwidth Forms". */
const TO_FULL_WIDTH = 0xfe_e0;

/**
 * The spellings in which a text is looked for, because a database compares bytes: the text itself, and its letters in every case and
 * of both widths. Other characters that fold to equal ones, such as `Ⅱ`, `①` and half-width katakana, are found as they are typed only.
 */
function spellingsOf(text: string): readonly string[] {
  const [first = '', ...others] = Array.from(foldForSearch(text));
  const rest = others.join('');
  const cases = [
    first + rest,
    first.toUpperCase() + rest,
    first + rest.toUpperCase(),
    (first + rest).toUpperCase(),
  ];
  return [...new Set([text, ...cases, ...cases.map(fullWidth)])];
}

function fullWidth(text: string): string {
  const isAscii = (point: number): boolean => point > 0x20 && point < 0x7f;
  return String.fromCodePoint(
    ...codePointsOf(text).map((point) => (isAscii(point) ? point + TO_FULL_WIDTH : point)),
  );
}
