import { foldText } from '../../../domain/glossary/fold.ts';
import type { LanguagePair, ReviewStatus } from '../../../domain/glossary/term.ts';
import type { ReadableDatabase } from '../../other-database.ts';
import type { ReviewAction, StoredTerm, TermAudit } from './stored-term.ts';
import { TERM_COLUMNS, termOfRow } from './term-rows.ts';

interface ReviewEntry extends TermAudit {
  readonly action: ReviewAction;
  readonly from: ReviewStatus | null;
  readonly to: ReviewStatus | null;
  readonly revision: number;
  /** Unix seconds. */
  readonly at: number;
}

/** A term with its history, the oldest entry first. */
export interface ReviewedTerm {
  readonly term: StoredTerm;
  readonly history: readonly ReviewEntry[];
}

export interface TermQuery {
  /** A part of a source term or alias; compared folded. */
  readonly sourceText?: string | undefined;
  readonly category?: string | undefined;
  readonly reviewStatus?: ReviewStatus | undefined;
  readonly limit: number;
}

/** A part of the terms of a pair of languages. */
export interface TermPageQuery extends LanguagePair {
  /** The id of the last term of the page before; empty for the first page. */
  readonly after: string;
  readonly states: readonly ReviewStatus[];
  readonly limit: number;
}

interface PairCounts extends LanguagePair {
  readonly counts: Readonly<Record<string, number>>;
}

export interface GlossaryReader {
  /** Grows with every change. */
  generation(): number;
  counts(): readonly PairCounts[];
  /** @returns the first terms by their folded source term, and how many there are */
  query(query: TermQuery): { readonly total: number; readonly terms: readonly ReviewedTerm[] };
  history(termId: string): readonly ReviewEntry[];
  /** The first terms of a pair of languages behind an id, by their ids. */
  page(query: TermPageQuery): readonly StoredTerm[];
  /** The terms of a pair of languages, in any order. */
  terms(pair: LanguagePair): Iterable<StoredTerm>;
}

const MATCHES = `deleted_at IS NULL AND (:part IS NULL OR instr(search_fold, :part) > 0)
  AND (:category IS NULL OR category = :category) AND (:status IS NULL OR review_status = :status)`;

export function createGlossaryReader(database: ReadableDatabase): GlossaryReader {
  const generation = database.prepare('SELECT generation FROM glossary');
  const counts = database.prepare(
    `SELECT source_language, target_language, review_status, count(*) AS count FROM term WHERE deleted_at IS NULL
     GROUP BY source_language, target_language, review_status ORDER BY source_language, target_language`,
  );
  const total = database.prepare(`SELECT count(*) AS count FROM term WHERE ${MATCHES}`);
  const page = database.prepare(
    `SELECT ${TERM_COLUMNS} FROM term WHERE ${MATCHES} ORDER BY source_fold, term_id LIMIT :limit`,
  );
  const history = database.prepare('SELECT * FROM review WHERE term_id = ? ORDER BY id');
  const ofPair = database.prepare(
    `SELECT ${TERM_COLUMNS} FROM term WHERE deleted_at IS NULL AND source_language = ? AND target_language = ?`,
  );
  const pageOfPair = database.prepare(
    `SELECT ${TERM_COLUMNS} FROM term WHERE term_id > ? AND deleted_at IS NULL AND source_language = ?
     AND target_language = ? AND review_status IN (SELECT value FROM json_each(?)) ORDER BY term_id LIMIT ?`,
  );
  const historyOf = (termId: string): ReviewEntry[] => history.all(termId).map(reviewOfRow);
  return {
    generation: () => Number(generation.get()?.['generation'] ?? 0),
    counts: () => pairCounts(counts.all()),
    query: ({ sourceText, category, reviewStatus, limit }) => {
      const filter = {
        part: sourceText === undefined ? null : foldText(sourceText).text,
        category: category ?? null,
        status: reviewStatus ?? null,
      };
      const terms = page.all({ ...filter, limit }).map(termOfRow);
      return {
        total: Number(total.get(filter)?.['count'] ?? 0),
        terms: terms.map((term) => ({ term, history: historyOf(term.termId) })),
      };
    },
    history: historyOf,
    page: ({ after, sourceLanguage, targetLanguage, states, limit }) =>
      pageOfPair.all(after, sourceLanguage, targetLanguage, JSON.stringify(states), limit).map(termOfRow),
    terms: ({ sourceLanguage, targetLanguage }) =>
      ofPair.iterate(sourceLanguage, targetLanguage).map(termOfRow),
  };
}

type Row = Readonly<Record<string, unknown>>;

function pairCounts(rows: readonly Row[]): PairCounts[] {
  const pairs = new Map<string, PairCounts & { counts: Record<string, number> }>();
  for (const row of rows) {
    const [sourceLanguage, targetLanguage] = [String(row['source_language']), String(row['target_language'])];
    const key = `${sourceLanguage} ${targetLanguage}`;
    const pair = pairs.get(key) ?? { sourceLanguage, targetLanguage, counts: {} };
    pairs.set(key, pair);
    pair.counts[String(row['review_status'])] = Number(row['count']);
  }
  return [...pairs.values()];
}

function reviewOfRow(row: Row): ReviewEntry {
  return {
    action: row['action'] as ReviewAction,
    from: row['from_status'] as ReviewStatus | null,
    to: row['to_status'] as ReviewStatus | null,
    reviewer: row['reviewer'] as string | null,
    tokenId: row['token_id'] as string | null,
    reason: row['reason'] as string | null,
    revision: row['revision'] as number,
    at: row['at'] as number,
  };
}
