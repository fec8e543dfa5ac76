import { codePointsOf, foldForSearch } from '../../../domain/memory/normalize-text.ts';
import { TRIGRAM_LENGTH, rarestTrigrams, trigramsOf } from '../../../domain/memory/trigrams.ts';
import type { Database } from '../../database/sqlite-database.ts';
import type { ReadableDatabase } from './memory-database.ts';

/** Trigrams of one fuzzy search: enough to find 99 of 100 texts that are 75 % similar. */
const SEARCHED_TRIGRAMS = 8;
/** Most records that one search looks at, so that it takes milliseconds on any data. */
const MOST_CANDIDATES = 20_000;
/** Most trigrams of a searched text that a concordance looks for; the candidates are compared in full. */
const CONCORDANCE_TRIGRAMS = 32;

/** Writes the index of texts. Calls belong into the transaction that inserts the records. */
export interface TextIndexWriter {
  /** Indexes the normalized texts of a new record. */
  add(id: number, sourceText: string, targetText: string): void;
  /** Adds the counts of trigrams since the last call. */
  countTrigrams(): void;
}

/** Creates the writer of a file. */
export function createTextIndexWriter(database: Database): TextIndexWriter {
  const addSource = database.prepare('INSERT INTO source_search (rowid, text) VALUES (?, ?)');
  const addTarget = database.prepare('INSERT INTO target_search (rowid, text) VALUES (?, ?)');
  const count = database.prepare(
    `INSERT INTO trigram (trigram, records) VALUES (?, ?)
     ON CONFLICT (trigram) DO UPDATE SET records = records + excluded.records`,
  );
  const added = new Map<string, number>();
  return {
    add: (id, sourceText, targetText) => {
      const folded = foldForSearch(sourceText);
      addSource.run(id, folded);
      addTarget.run(id, foldForSearch(targetText));
      for (const trigram of trigramsOf(folded)) added.set(trigram, (added.get(trigram) ?? 0) + 1);
    },
    countTrigrams: () => {
      for (const [trigram, records] of added) count.run(trigram, records);
      added.clear();
    },
  };
}

/** The first code points of a folded text: short texts are searched by them. */
export function prefixOf(text: string): string {
  const points = codePointsOf(foldForSearch(text)).slice(0, TRIGRAM_LENGTH - 1);
  return String.fromCodePoint(...points);
}

/** Chooses, among trigrams of a source, those by which similar sources are found. */
export function createTrigramChoice(
  database: ReadableDatabase,
): (trigrams: readonly string[]) => readonly string[] {
  const read = database.prepare(
    'SELECT trigram, records FROM trigram WHERE trigram IN (SELECT value FROM json_each(?))',
  );
  return (trigrams) => {
    const rows = read.all(JSON.stringify(trigrams));
    const frequencies = new Map(rows.map((row) => [row['trigram'] as string, row['records'] as number]));
    return rarestTrigrams(frequencies, { count: SEARCHED_TRIGRAMS, records: MOST_CANDIDATES });
  };
}

/** The expression that finds texts with any of some trigrams. */
export function anyOf(trigrams: readonly string[]): string {
  return trigrams.map(quoted).join(' OR ');
}

/** The expression that finds texts which may contain a folded text of at least three code points. */
export function allOf(folded: string): string {
  return trigramsOf(folded).slice(0, CONCORDANCE_TRIGRAMS).map(quoted).join(' AND ');
}

/** The query for the candidates of an expression, as ids. */
export function candidates(table: 'source_search' | 'target_search'): string {
  return `SELECT rowid FROM ${table} WHERE ${table} MATCH ? LIMIT ${MOST_CANDIDATES}`;
}

function quoted(trigram: string): string {
  return `"${trigram.replaceAll('"', '""')}"`;
}
