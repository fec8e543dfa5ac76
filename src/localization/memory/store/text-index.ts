import { codePointsOf, foldForSearch } from '../../../domain/memory/normalize-text.ts';
import {
  TRIGRAM_LENGTH,
  quotedTrigram,
  rarestTrigrams,
  trigramsOf,
} from '../../../domain/memory/trigrams.ts';
import { normalText } from '../../../domain/text/normal-text.ts';
import type { SqlRow } from '../../../engine/database/checked-rows.ts';
import type { MainMemory, OpenMemory } from './memory-database.ts';

/** Trigrams of one fuzzy search: enough to find 99 of 100 texts that are 75 % similar. */
const SEARCHED_TRIGRAMS = 8;
/** Most records to which the trigrams of one fuzzy search lead together: to read and compare them takes some 20 ms. */
const MOST_SIMILAR = 4000;
/** Most records that one search looks at, where a single trigram leads to more, so that its time is bounded on any data. */
const MOST_CANDIDATES = 20_000;

/** Most records, the newest of those that are not yet indexed, that a search reads without the index. */
const MOST_UNINDEXED = 2000;

/**
 * Indexes the texts of records that are not yet indexed, the oldest first, in one transaction. It need not survive the machine:
 * the next step indexes the same records again.
 *
 * @param most how many records at most
 * @returns how many it indexed
 */
export function indexTexts(memory: MainMemory, most: number): number {
  const { database, sql } = memory;
  const section = (): number => {
    const rows = sql(
      `SELECT id, source_text, target_text FROM record WHERE id > (SELECT last_id FROM indexed_texts) ORDER BY id LIMIT ?`,
    ).all(most);
    const last = rows.at(-1);
    if (last === undefined) return 0;
    indexRows(memory, rows);
    sql('UPDATE indexed_texts SET last_id = ?').run(last['id'] as number);
    return rows.length;
  };
  return database.transaction(section, { durable: false });
}

function indexRows({ sql }: MainMemory, rows: readonly SqlRow[]): void {
  const addSource = sql('INSERT INTO source_search (rowid, text) VALUES (?, ?)');
  const addTarget = sql('INSERT INTO target_search (rowid, text) VALUES (?, ?)');
  const count = sql(
    `INSERT INTO trigram (trigram, records) VALUES (?, ?)
     ON CONFLICT (trigram) DO UPDATE SET records = records + excluded.records`,
  );
  const added = new Map<string, number>();
  for (const row of rows) {
    const id = row['id'] as number;
    const folded = foldForSearch(row['source_text'] as string);
    addSource.run(id, folded);
    addTarget.run(id, foldForSearch(normalText(row['target_text'] as string)));
    for (const trigram of trigramsOf(folded)) added.set(trigram, (added.get(trigram) ?? 0) + 1);
  }
  // In the order of the table: neighbours are in one page.
  for (const trigram of [...added.keys()].sort()) count.run(trigram, added.get(trigram) ?? 0);
}

/** The first code points of a folded text: short texts are searched by them. */
export function prefixOf(text: string): string {
  const points = codePointsOf(foldForSearch(text)).slice(0, TRIGRAM_LENGTH - 1);
  return String.fromCodePoint(...points);
}

/** Chooses, among trigrams of a source, those by which similar sources are found. */
export function chooseTrigrams({ sql }: OpenMemory, trigrams: readonly string[]): readonly string[] {
  const rows = sql(
    'SELECT trigram, records FROM trigram WHERE trigram IN (SELECT value FROM json_each(?))',
  ).all(JSON.stringify(trigrams));
  const frequencies = new Map(rows.map((row) => [row['trigram'] as string, row['records'] as number]));
  return rarestTrigrams(frequencies, { count: SEARCHED_TRIGRAMS, records: MOST_SIMILAR });
}

/** The expression that finds texts with any of some trigrams, and no text without trigrams. */
export function anyOf(trigrams: readonly string[]): string {
  return trigrams.length === 0 ? quotedTrigram('') : trigrams.map(quotedTrigram).join(' OR ');
}

/** The query for the candidates of an expression, as ids. The newest records that are not yet indexed are candidates of every one. */
export function candidates(table: 'source_search' | 'target_search'): string {
  return `SELECT rowid FROM (SELECT rowid FROM ${table} WHERE ${table} MATCH ? LIMIT ${MOST_CANDIDATES})
    UNION ALL SELECT id FROM
      (SELECT id FROM record WHERE id > (SELECT last_id FROM indexed_texts) ORDER BY id DESC LIMIT ${MOST_UNINDEXED})`;
}

/** Pages of the text index that one step merges: a step takes some milliseconds. */
const PAGES_OF_STEP = 64;
/** Most steps of one index in one run; the next run continues. */
const MOST_STEPS = 10_000;

/**
 * The upkeep of a file: it merges the parts of the text indexes that many small writes left, so that searches stay fast, refreshes
 * the statistics of the query planner, and writes the log back. It pauses after each step, and a stop loses nothing.
 *
 * Source: sqlite.org/fts5.html, "The 'merge' Command"; sqlite.org/pragma.html, optimize.
 */
export function* maintainIndexes({ sql }: MainMemory): Generator<void, void> {
  const changes = sql('SELECT total_changes() AS changes');
  const changeCount = (): number => Number(changes.get()?.['changes']);
  for (const table of ['source_search', 'target_search']) {
    const merge = sql(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', ?)`);
    // A negative number begins a merge even where the parts are few.
    let pages = -PAGES_OF_STEP;
    for (let step = 0; step < MOST_STEPS; step += 1) {
      const before = changeCount();
      merge.run(pages);
      if (changeCount() - before < 2) break;
      pages = PAGES_OF_STEP;
      yield;
    }
  }
  sql('PRAGMA optimize').all();
  yield;
  sql('PRAGMA wal_checkpoint(TRUNCATE)').all();
}
