import { foldText } from '../../../domain/glossary/fold.ts';
import type { LanguagePair, ReviewStatus } from '../../../domain/glossary/term.ts';
import type { OpenGlossary } from './glossary-database.ts';
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

const MATCHES = `deleted_at IS NULL AND (:part IS NULL OR instr(search_fold, :part) > 0)
  AND (:category IS NULL OR category = :category) AND (:status IS NULL OR review_status = :status)`;

/** Grows with every change. */
export function readGeneration({ sql }: OpenGlossary): number {
  return Number(sql('SELECT generation FROM glossary').get()?.['generation'] ?? 0);
}

export function countTerms({ sql }: OpenGlossary): readonly PairCounts[] {
  const rows = sql(
    `SELECT source_language, target_language, review_status, count(*) AS count FROM term WHERE deleted_at IS NULL
     GROUP BY source_language, target_language, review_status ORDER BY source_language, target_language`,
  );
  const pairs = new Map<string, PairCounts & { counts: Record<string, number> }>();
  for (const row of rows.all()) {
    const [sourceLanguage, targetLanguage] = [String(row['source_language']), String(row['target_language'])];
    const key = `${sourceLanguage} ${targetLanguage}`;
    const pair = pairs.get(key) ?? { sourceLanguage, targetLanguage, counts: {} };
    pairs.set(key, pair);
    pair.counts[String(row['review_status'])] = Number(row['count']);
  }
  return [...pairs.values()];
}

/** @returns the first terms by their folded source term, and how many there are */
export function queryTerms(
  glossary: OpenGlossary,
  { sourceText, category, reviewStatus, limit }: TermQuery,
): { readonly total: number; readonly terms: readonly ReviewedTerm[] } {
  const { sql } = glossary;
  const filter = {
    part: sourceText === undefined ? null : foldText(sourceText).text,
    category: category ?? null,
    status: reviewStatus ?? null,
  };
  const page = sql(
    `SELECT ${TERM_COLUMNS} FROM term WHERE ${MATCHES} ORDER BY source_fold, term_id LIMIT :limit`,
  );
  const terms = page.all({ ...filter, limit }).map(termOfRow);
  const total = sql(`SELECT count(*) AS count FROM term WHERE ${MATCHES}`).get(filter)?.['count'];
  return {
    total: Number(total ?? 0),
    terms: terms.map((term) => ({ term, history: termHistory(glossary, term.termId) })),
  };
}

export function termHistory({ sql }: OpenGlossary, termId: string): readonly ReviewEntry[] {
  return sql('SELECT * FROM review WHERE term_id = ? ORDER BY id').all(termId).map(reviewOfRow);
}

/** The first terms of a pair of languages behind an id, by their ids. */
export function termPage({ sql }: OpenGlossary, query: TermPageQuery): readonly StoredTerm[] {
  const { after, sourceLanguage, targetLanguage, states, limit } = query;
  const page = sql(
    `SELECT ${TERM_COLUMNS} FROM term WHERE term_id > ? AND deleted_at IS NULL AND source_language = ?
     AND target_language = ? AND review_status IN (SELECT value FROM json_each(?)) ORDER BY term_id LIMIT ?`,
  );
  return page.all(after, sourceLanguage, targetLanguage, JSON.stringify(states), limit).map(termOfRow);
}

/** The terms of a pair of languages, in any order. */
export function termsOf(
  { sql }: OpenGlossary,
  { sourceLanguage, targetLanguage }: LanguagePair,
): Iterable<StoredTerm> {
  const ofPair = sql(
    `SELECT ${TERM_COLUMNS} FROM term WHERE deleted_at IS NULL AND source_language = ? AND target_language = ?`,
  );
  return ofPair.iterate(sourceLanguage, targetLanguage).map(termOfRow);
}

type Row = Readonly<Record<string, unknown>>;

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
