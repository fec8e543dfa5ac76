export type DiagnosticSeverity = 'error' | 'warning' | 'info';

interface DiagnosticMeaning {
  readonly severity: DiagnosticSeverity;
  readonly meaning: string;
  readonly nextStep: string;
}

const OVERRIDE = 'or accept it with a `glossary_override`';

/** The codes of a diagnosis. */
export const DIAGNOSTIC_CODES = {
  term_missing: {
    severity: 'error',
    meaning:
      'The translation has neither the recommended nor an allowed translation of an approved term. It blocks from the moment the container was proofread once, and is a warning before; `glossary.termMissing` changes that by category.',
    nextStep: `Use the term's translation, add yours to \`allowed_translations\`, ${OVERRIDE}.`,
  },
  forbidden_translation: {
    severity: 'error',
    meaning: 'The translation has the wording of a deprecated term.',
    nextStep: `Use the wording of the approved term, ${OVERRIDE}.`,
  },
  ambiguous_term: {
    severity: 'error',
    meaning:
      'Several approved terms of equal priority and equally narrow scope match the same part of the source and want different translations.',
    nextStep: `Deprecate one of them, give one a priority or a scope, ${OVERRIDE}.`,
  },
  term_count_mismatch: {
    severity: 'warning',
    meaning: 'The translation has the term fewer times than the source.',
    nextStep: 'Check that no occurrence is lost.',
  },
  untranslated_term_left: {
    severity: 'warning',
    meaning: 'The translation still has the source form of a term.',
    nextStep: 'Translate it, or add the source form to `allowed_translations`.',
  },
  deprecated_term_matched: {
    severity: 'info',
    meaning: 'A deprecated term matches the source; its translation is forbidden.',
    nextStep: 'Nothing; use the approved wording.',
  },
  draft_term_unused: {
    severity: 'info',
    meaning: 'The translation does not use the advice of a draft term.',
    nextStep: 'Use it, or approve or reject the draft.',
  },
  shadowed_term: {
    severity: 'info',
    meaning:
      'A term matches, but another one counts at that place: a longer one, or one that is ranked before it.',
    nextStep: 'Nothing, unless the wrong one counts: change its priority or scope.',
  },
} as const satisfies Readonly<Record<string, DiagnosticMeaning>>;

export type DiagnosticCode = keyof typeof DIAGNOSTIC_CODES;

/** The codes that a `glossary_override` covers, whatever their severity is at the moment: they are part of `qa_identity`. */
export const OVERRIDABLE_CODES: ReadonlySet<DiagnosticCode> = new Set([
  'term_missing',
  'forbidden_translation',
  'ambiguous_term',
]);
