import type { ReportedTerm } from '../../contract/formats/glossary/term-import.ts';

/** The parts of a term that files carry, as the reports name them. */
export type WrittenTerm = Pick<
  ReportedTerm,
  | 'term_id'
  | 'source_term'
  | 'aliases'
  | 'recommended_translation'
  | 'allowed_translations'
  | 'source_language'
  | 'target_language'
  | 'category'
  | 'priority'
  | 'scope'
  | 'review_status'
  | 'source'
>;
