import { int64Value } from '../../../domain/int64-value.ts';
import { foldText } from '../../../domain/glossary/fold.ts';
import { canonicalScope } from '../../../domain/glossary/scope.ts';
import type { ReviewStatus } from '../../../domain/glossary/term.ts';
import type { StoredTerm, TermFields, TermSource } from './stored-term.ts';

type Row = Readonly<Record<string, unknown>>;

/** The columns of a term. A 64-bit integer is read as text, because it may exceed 2^53. */
export const TERM_COLUMNS = `term_id, revision, source_term, aliases, recommended_translation, allowed_translations,
  source_language, target_language, category, CAST(priority AS TEXT) AS priority, scope, review_status, source_kind,
  CAST(observed_at AS TEXT) AS observed_at, source_ref, source_author, source_note, created_at, updated_at`;

export function termOfRow(row: Row): StoredTerm {
  return {
    termId: text(row, 'term_id'),
    revision: row['revision'] as number,
    sourceTerm: text(row, 'source_term'),
    aliases: JSON.parse(text(row, 'aliases')) as string[],
    recommendedTranslation: text(row, 'recommended_translation'),
    allowedTranslations: JSON.parse(text(row, 'allowed_translations')) as string[],
    sourceLanguage: text(row, 'source_language'),
    targetLanguage: text(row, 'target_language'),
    category: text(row, 'category'),
    priority: int64Value(BigInt(text(row, 'priority'))),
    scope: Object.fromEntries(JSON.parse(text(row, 'scope')) as [string, string][]),
    reviewStatus: row['review_status'] as ReviewStatus,
    source: {
      kind: row['source_kind'] as TermSource['kind'],
      observedAt: int64Value(BigInt(text(row, 'observed_at'))),
      ref: row['source_ref'] as string | null,
      author: row['source_author'] as string | null,
      note: row['source_note'] as string | null,
    },
    createdAt: row['created_at'] as number,
    updatedAt: row['updated_at'] as number,
  };
}

/** The values by which a live term is unique, in the order of {@link UNIQUE_TERM}. */
export function uniqueValues(term: TermFields): string[] {
  return [
    foldText(term.sourceTerm).text,
    term.sourceLanguage,
    term.targetLanguage,
    canonicalScope(term.scope),
    term.category,
  ];
}

export const UNIQUE_TERM = `deleted_at IS NULL AND source_fold = ? AND source_language = ? AND target_language = ?
  AND scope = ? AND category = ?`;

/** The parameters of a statement that writes a term, named as its columns. */
export function parametersOf(term: StoredTerm): Record<string, string | number | bigint | null> {
  return {
    term_id: term.termId,
    revision: term.revision,
    source_term: term.sourceTerm,
    source_fold: foldText(term.sourceTerm).text,
    search_fold: [term.sourceTerm, ...term.aliases].map((form) => foldText(form).text).join('\n'),
    aliases: JSON.stringify(term.aliases),
    recommended_translation: term.recommendedTranslation,
    allowed_translations: JSON.stringify(term.allowedTranslations),
    source_language: term.sourceLanguage,
    target_language: term.targetLanguage,
    category: term.category,
    priority: term.priority,
    scope: canonicalScope(term.scope),
    review_status: term.reviewStatus,
    source_kind: term.source.kind,
    observed_at: term.source.observedAt,
    source_ref: term.source.ref,
    source_author: term.source.author,
    source_note: term.source.note,
    created_at: term.createdAt,
    updated_at: term.updatedAt,
  };
}

function text(row: Row, column: string): string {
  return row[column] as string;
}
