import { withholdReuse, decide, type MatchRecord } from '../../domain/memory/memory-match.ts';
import { findPlaceholders } from '../../domain/text/placeholders.ts';
import type { MemoryAnswer } from './memory-worker.ts';

/** A target and its source. */
export interface CheckedText {
  readonly source: string;
  readonly target: string;
  /** BCP 47, such as `ja`. */
  readonly sourceLanguage: string;
  /** BCP 47, such as `zh-Hans`. */
  readonly targetLanguage: string;
}

/** Checks a target. A finding of severity `error` blocks it. */
export type TargetCheck = (
  text: CheckedText,
) => readonly { readonly check: string; readonly severity: string; readonly message: string }[];

/** The messages of the findings that block a target. */
export function blockingFindings(check: TargetCheck, text: CheckedText): readonly string[] {
  return check(text)
    .filter(({ severity }) => severity === 'error')
    .map(({ check, message }) => `${check}: ${message}`);
}

/** The answer of a query in which no match is reused whose target is blocked for this source. */
export function withholdBlocked<R extends MatchRecord>(
  answer: MemoryAnswer<R>,
  isBlocked: (target: string) => boolean,
): MemoryAnswer<R> {
  const matches = answer.matches.map((match) =>
    match.decision === 'reuse' && isBlocked(match.proposed_text) ? withholdReuse(match) : match,
  );
  return { decision: decide(matches), matches };
}

/** Checks that a target has the placeholders and tags of its source, in any order. */
export const checkPlaceholders: TargetCheck = ({ source, target }) => {
  const [wanted, found] = [source, target].map((text) => findPlaceholders(text).toSorted().join('\0'));
  if (wanted === found) return [];
  const message = 'the target does not have the same placeholders and tags as its source';
  return [{ check: 'placeholder_mismatch', severity: 'error', message }];
};
