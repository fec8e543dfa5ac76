import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import type { ReviewedTerm } from './store/glossary-reader.ts';

/** A term as reports and actions show it. */
export type ReportedTerm = ReportBodyOf<'translation.glossary.query'>['items'][number];

/** Converts a term with its history to the form of reports. */
export function reportedTerm({ term, history }: ReviewedTerm): ReportedTerm {
  const { source } = term;
  return {
    term_id: term.termId,
    revision: term.revision,
    source_term: term.sourceTerm,
    aliases: [...term.aliases],
    recommended_translation: term.recommendedTranslation,
    allowed_translations: [...term.allowedTranslations],
    source_language: term.sourceLanguage,
    target_language: term.targetLanguage,
    category: term.category,
    priority: term.priority,
    scope: { ...term.scope },
    review_status: term.reviewStatus,
    source: {
      source_kind: source.kind,
      observed_unix_seconds: source.observedAt,
      ...(source.ref === null ? {} : { source_ref: source.ref }),
      ...(source.author === null ? {} : { source_author: source.author }),
      ...(source.note === null ? {} : { source_note: source.note }),
    },
    created_at: term.createdAt,
    updated_at: term.updatedAt,
    review_history: history.map(({ tokenId, ...entry }) => ({ ...entry, token_id: tokenId })),
  };
}
