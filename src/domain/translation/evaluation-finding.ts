/** What a finding of an evaluation is about: the meaning, a name or a term, how someone speaks, or the language. */
export const FINDING_KINDS = ['accuracy', 'terms', 'tone', 'fluency'] as const;

/** A finding of an evaluation on one target. */
export interface EvaluationFinding {
  readonly kind: (typeof FINDING_KINDS)[number];
  readonly severity: 'warning' | 'info';
  readonly message: string;
  /** The words of the target that it is about, UTF-16 code units; `null` for the whole target. */
  readonly span: { readonly start: number; readonly end: number } | null;
}

/** A finding that quotes the words of its target; nothing when it is about the whole text, or about what is missing. */
interface QuotingFinding extends Omit<EvaluationFinding, 'span'> {
  readonly quote?: string | null | undefined;
}

/** Finds the words that findings quote. A quote that the target does not have drops the place, not the finding. */
export function placeFindings(
  findings: readonly QuotingFinding[],
  targetText: string,
): readonly EvaluationFinding[] {
  return findings.map(({ quote, ...finding }) => {
    const words = quote?.trim() ?? '';
    const start = words === '' ? -1 : targetText.indexOf(words);
    return { ...finding, span: start === -1 ? null : { start, end: start + words.length } };
  });
}
