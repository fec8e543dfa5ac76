import { REVIEW_STATUSES } from '../../../domain/glossary/term.ts';
import {
  COUNT,
  FREE_INTEGER,
  FREE_TEXT,
  integer,
  JSON_OBJECT,
  JSON_TEXTS,
  jsonWith,
  NAME,
  nullable,
  oneOf,
  POSITIVE,
  SECONDS,
  type TableRules,
} from '../../../engine/database/column-rules.ts';

const STATUS = oneOf(REVIEW_STATUSES);
/** The facts of a scope and their values. */
const SCOPE = jsonWith(
  'a JSON list of pairs of texts',
  (value) =>
    Array.isArray(value) &&
    value.every(
      (pair) => Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === 'string'),
    ),
);

/** The rules of a Glossary. */
export const GLOSSARY_RULES: TableRules = {
  glossary: { id: integer(1, 1), generation: COUNT },
  term: {
    term_id: FREE_TEXT,
    revision: COUNT,
    source_term: FREE_TEXT,
    source_fold: FREE_TEXT,
    search_fold: FREE_TEXT,
    aliases: JSON_TEXTS,
    recommended_translation: FREE_TEXT,
    allowed_translations: JSON_TEXTS,
    source_language: NAME,
    target_language: NAME,
    category: FREE_TEXT,
    priority: FREE_INTEGER,
    scope: SCOPE,
    review_status: STATUS,
    source_kind: oneOf(['manual', 'imported']),
    observed_at: FREE_INTEGER,
    source_ref: nullable(FREE_TEXT),
    source_author: nullable(FREE_TEXT),
    source_note: nullable(FREE_TEXT),
    created_at: SECONDS,
    updated_at: SECONDS,
    deleted_at: nullable(SECONDS),
  },
  review: {
    id: POSITIVE,
    term_id: FREE_TEXT,
    revision: COUNT,
    action: oneOf(['add', 'update', 'reject', 'reopen', 'approve', 'deprecate', 'delete']),
    from_status: nullable(STATUS),
    to_status: nullable(STATUS),
    reviewer: nullable(FREE_TEXT),
    token_id: nullable(FREE_TEXT),
    reason: nullable(FREE_TEXT),
    at: SECONDS,
    term: JSON_OBJECT,
  },
};
