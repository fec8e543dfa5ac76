import { withholdReuse, decide, type MatchRecord } from '../../domain/memory/memory-match.ts';
import type { CheckInput } from '../../domain/text/checks/check-input.ts';
import { checkTarget } from '../../domain/text/checks/check-target.ts';
import type { MemoryAnswer } from './memory-worker.ts';

/**
 * The messages of the findings that block a target. Records hold no constraints of fields, so only their texts are checked.
 */
export function blockingFindings(text: CheckInput): readonly string[] {
  return checkTarget(text)
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
