import type { BodyOf } from '../../../contract/actions/body-of.ts';
import { ServiceError, type FieldError } from '../../../contract/problems/service-error.ts';
import { parseArguments, parseOverride, parseResults } from '../work/update/named-units.ts';
import type { TaskReview } from '../work/review/review.ts';

type Body = BodyOf<'translation-proofread'>;

/**
 * Parses the body of a review of one task.
 *
 * @param fourEyes whether a token must not accept its own targets
 * @param now Unix seconds
 * @throws ServiceError `invalid_request`, with a pointer to each wrong field
 */
export function parseTaskReview(
  body: Body,
  tokenId: string | null,
  fourEyes: boolean,
  now: number,
): TaskReview {
  const errors: FieldError[] = [];
  const results = parseResults(body.translation_results ?? [], errors);
  const named = parseArguments(body.args ?? [], errors);
  const override = parseOverride(body.glossary_override, now, errors);
  const reason = (body.reason ?? '').trim() === '' ? null : (body.reason ?? null);
  const decision = body.status === 'pending' ? 'return' : 'accept';
  requireText(body.reviewer, '/reviewer', 'must not be blank', errors);
  if (decision === 'return') {
    requireText(reason, '/reason', 'is required to return targets', errors);
    if (override !== null) errors.push({ pointer: '/glossary_override', message: 'only fits an acceptance' });
    if (named.waive.length > 0) errors.push({ pointer: '/args', message: 'waive= only fits an acceptance' });
  } else if (named.waive.length > 0) {
    requireText(reason, '/reason', 'is required to waive a finding', errors);
  }
  if (errors.length > 0) {
    throw new ServiceError('invalid_request', 'the review is not valid; "errors" names each field', {
      errors: errors.slice(0, 100),
    });
  }
  return {
    taskId: body.task_id ?? '',
    decision,
    results,
    override,
    reviewer: body.reviewer ?? '',
    reason,
    tokenId,
    fourEyes,
    ...named,
  };
}

function requireText(
  text: string | null | undefined,
  pointer: string,
  message: string,
  errors: FieldError[],
): void {
  if ((text ?? '').trim() === '') errors.push({ pointer, message });
}
