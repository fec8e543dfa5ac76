/** The rules by which the terms of a file are imported into the Glossary one by one; pure. */

import { foldedForm } from '../../../domain/glossary/folded-form.ts';
import {
  decideImport,
  type ImportDecision,
  type ImportStep,
} from '../../../domain/glossary/import-decision.ts';
import { canonicalScope } from '../../../domain/glossary/scope.ts';
import { meaningOf, type TermMeaning } from '../../../domain/glossary/term-meaning.ts';
import type { LanguagePair } from '../../../domain/glossary/term.ts';
import type { BodyOf } from '../../actions/body-of.ts';
import type { ReportBodyOf } from '../../reports/reports.ts';
import type { ReadTerm } from './read-term.ts';

/** The waits of an import where the token has reached a limit: how often for one call, and how long at most. */
export const IMPORT_WAITS = { most: 10, defaultSeconds: 1, longestSeconds: 300 } as const;

/** A term as the service reports it. */
export type ReportedTerm = ReportBodyOf<'translation.glossary.query'>['items'][number];

/** The answer to a query of the Glossary for the text of a term. */
export interface FoundTerms {
  /** How many terms match; `items` may be the first of them. */
  readonly total: number;
  readonly items: readonly ReportedTerm[];
}

export type ImportedOutcome = 'added' | 'updated' | 'reviewed' | 'unchanged';

type TermJudgement =
  | {
      readonly kind: 'steps';
      readonly outcome: ImportedOutcome;
      readonly steps: readonly ImportStep[];
      /** Of the known term; `null` for a new one. */
      readonly termId: string | null;
    }
  | Exclude<ImportDecision, { kind: 'steps' }>
  /** The answer does not say whether the term is known. */
  | { readonly kind: 'unclear'; readonly message: string };

/** The text to query the Glossary for; `null` for a term without text, which no term of the Glossary is. */
export function queriedText({ source_term: text }: ReadTerm): string | null {
  return foldedForm(text).trim() === '' ? null : text;
}

/**
 * Judges a term of a file by what the Glossary has.
 *
 * @param found the answer to {@link queriedText}; `null` when there was no text to query
 */
export function judgeTerm(
  term: ReadTerm,
  pair: LanguagePair,
  found: FoundTerms | null,
  isReviewed: boolean,
): TermJudgement {
  const { total, items } = found ?? { total: 0, items: [] };
  const known = knownTerm(term, pair, items);
  if (known === null && total > items.length) {
    return {
      kind: 'unclear',
      message: `${total} terms contain "${term.source_term}", more than the service gives; put the file into the exchange folder of the daemon`,
    };
  }
  const decision = decideImport({
    known: known?.review_status ?? null,
    isSame: known !== null && meaningOf(termMeaning(known, pair)) === meaningOf(termMeaning(term, pair)),
    read: term.review_status,
    isReviewed,
    hasTranslation: term.recommended_translation.trim() !== '',
  });
  if (decision.kind !== 'steps') return decision;
  const { steps } = decision;
  return { kind: 'steps', outcome: outcomeOf(steps), steps, termId: known?.term_id ?? null };
}

/** The term of the Glossary that a term of a file is: by an id that a daemon gave, else by its text, category and scope. */
function knownTerm(term: ReadTerm, pair: LanguagePair, items: readonly ReportedTerm[]): ReportedTerm | null {
  const ofPair = items.filter(
    (item) => item.source_language === pair.sourceLanguage && item.target_language === pair.targetLanguage,
  );
  const isSame = (item: ReportedTerm): boolean =>
    foldedForm(item.source_term) === foldedForm(term.source_term) &&
    item.category === term.category &&
    canonicalScope(item.scope) === canonicalScope(term.scope);
  return (
    ofPair.find(({ term_id: id }) => id === term.term_id && id.startsWith('gt_')) ??
    ofPair.find(isSame) ??
    null
  );
}

/** What a term of a file or a report demands, in the names of the domain. */
export function termMeaning(term: ReadTerm | ReportedTerm, pair: LanguagePair): TermMeaning {
  return {
    ...pair,
    sourceTerm: term.source_term,
    aliases: term.aliases,
    recommendedTranslation: term.recommended_translation,
    allowedTranslations: term.allowed_translations,
    category: term.category,
    priority: term.priority,
    scope: term.scope,
  };
}

function outcomeOf(steps: readonly ImportStep[]): ImportedOutcome {
  if (steps.includes('add')) return 'added';
  if (steps.includes('update')) return 'updated';
  return steps.length > 0 ? 'reviewed' : 'unchanged';
}

/** The body of a step that changes a known term. */
export function changeBody(
  step: Exclude<ImportStep, 'add'>,
  term: ReadTerm,
  termId: string | null,
): Readonly<Record<string, unknown>> {
  return { term_id: termId, ...(step === 'update' ? termValues(term) : {}) };
}

function termValues(term: ReadTerm) {
  return {
    source_term: term.source_term,
    aliases: [...term.aliases],
    recommended_translation: term.recommended_translation,
    allowed_translations: [...term.allowed_translations],
    category: term.category,
    priority: term.priority,
    scope: term.scope,
  };
}

/** The body that adds a term, without an id. */
export function newTermBody(
  term: ReadTerm,
  { pair, file, now }: { pair: LanguagePair; file: string; now: number },
): BodyOf<'translation-glossary-add'> {
  const { source_ref, source_author, source_note } = term;
  return {
    ...termValues(term),
    source_language: pair.sourceLanguage,
    target_language: pair.targetLanguage,
    source: {
      source_kind: 'imported',
      observed_unix_seconds: now,
      source_ref: source_ref ?? file,
      ...(source_author === null ? {} : { source_author }),
      ...(source_note === null ? {} : { source_note }),
    },
  };
}
