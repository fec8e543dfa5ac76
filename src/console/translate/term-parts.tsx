/** The parts of a term that the list and its page show. */

import type { JSX } from 'preact';
import { foldedForm } from '../../domain/glossary/folded-form.ts';
import { canonicalScope } from '../../domain/glossary/scope.ts';
import type { Report } from '../api/wire.ts';
import { ActionButton } from '../components/controls.tsx';
import type { Tone } from '../components/text.tsx';

export type Term = Report<'translation.glossary.query'>['items'][number];

export const TERM_TONES = {
  draft: 'info',
  approved: 'ok',
  deprecated: 'warn',
  rejected: 'idle',
} as const satisfies Record<Term['review_status'], Tone>;

/** The other terms with the same source term, languages and scope. */
export function duplicatesOf(term: Term, terms: readonly Term[]): readonly Term[] {
  return terms.filter(
    (each) =>
      each.term_id !== term.term_id &&
      each.review_status !== 'rejected' &&
      foldedForm(each.source_term) === foldedForm(term.source_term) &&
      each.source_language === term.source_language &&
      each.target_language === term.target_language &&
      canonicalScope(each.scope) === canonicalScope(term.scope),
  );
}

/** The body that gives a term the spellings and translations of its duplicate. */
export function mergedBody(
  term: Term,
  duplicate: Term,
): { readonly aliases: string[]; readonly allowed_translations: string[] } {
  const spellings = [...term.aliases, duplicate.source_term, ...duplicate.aliases];
  const translations = [
    ...term.allowed_translations,
    duplicate.recommended_translation,
    ...duplicate.allowed_translations,
  ];
  return {
    aliases: [...new Set(spellings)].filter((text) => text !== '' && text !== term.source_term),
    allowed_translations: [...new Set(translations)].filter(
      (text) => text !== '' && text !== term.recommended_translation,
    ),
  };
}

/** The actions that the state of a term allows. */
export function TermActions({ term }: { term: Term }): JSX.Element {
  const { term_id: id, source_term: about, review_status: status } = term;
  const fixed = { term_id: id };
  return (
    <>
      {status === 'draft' || status === 'deprecated' ? (
        <ActionButton request={{ action: 'translation-glossary-approve', about, fixed }} about={about}>
          Approve
        </ActionButton>
      ) : null}
      <ActionButton
        request={{
          action: 'translation-glossary-update',
          about,
          fixed,
          body: editedBody(term),
          changesOnly: true,
        }}
        about={about}
      >
        Edit
      </ActionButton>
      {status === 'approved' ? (
        <ActionButton
          request={{ action: 'translation-glossary-deprecate', about, fixed }}
          class="danger"
          about={about}
        >
          Deprecate
        </ActionButton>
      ) : (
        <ActionButton
          request={{ action: 'translation-glossary-delete', about, fixed }}
          class="danger"
          about={about}
        >
          Delete
        </ActionButton>
      )}
    </>
  );
}

function editedBody(term: Term): Readonly<Record<string, unknown>> {
  const { source_term, recommended_translation, aliases, allowed_translations, category, priority, scope } =
    term;
  return {
    source_term,
    recommended_translation,
    aliases,
    allowed_translations,
    category,
    priority,
    scope,
    source_language: term.source_language,
    target_language: term.target_language,
  };
}
