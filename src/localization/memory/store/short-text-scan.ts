import { codePointsOf, foldForSearch } from '../../../domain/memory/normalize-text.ts';
import type { LanguagePair } from '../../../domain/memory/memory-record.ts';
import type { ReadableDatabase } from '../../other-database.ts';
import { MATCH_COLUMNS } from './record-rows.ts';

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
 * Creates the scan of a file for a text that is too short for the index: it reads records, the newest first, for a bounded time.
 *
 * @param now milliseconds of a clock that never goes back
 * @returns whether it has read every record
 */
export function createShortTextScan(
  database: ReadableDatabase,
  now: () => number = () => performance.now(),
): (scan: ShortTextScan) => boolean {
  const lastId = database.prepare('SELECT coalesce(max(id), 0) AS id FROM record');
  return ({ text, take, source_language, target_language }) => {
    const end = now() + SCAN_MS;
    const spellings = spellingsOf(text);
    const holds = spellings.map(() => 'instr(r.source_text, ?) OR instr(r.target_text, ?)').join(' OR ');
    const step = database.prepare(
      `SELECT ${MATCH_COLUMNS} FROM record r JOIN pair p USING (pair_id) WHERE r.id > ? AND r.id <= ?
       AND p.source_language = ? AND p.target_language = ? AND r.state IN ('trusted', 'candidate') AND (${holds})
       ORDER BY r.id DESC`,
    );
    const wanted = [source_language, target_language, ...spellings.flatMap((each) => [each, each])];
    const last = lastId.get()?.['id'] as number;
    for (let upTo = last; upTo > 0; upTo -= READ_TOGETHER) {
      if (now() >= end) return false;
      for (const row of step.iterate(upTo - READ_TOGETHER, upTo, ...wanted)) if (!take(row)) return false;
    }
    return true;
  };
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
