import type { BodyOf } from '../../contract/actions/body-of.ts';
import { ServiceError, type FieldError } from '../../contract/problems/service-error.ts';
import { LONGEST_LEASE_SECONDS } from '../../domain/translation/lease-length.ts';
import { parseArguments, parseOverride, parseResults } from './work/update/named-units.ts';
import type { TaskUpdate } from './work/store/task-update.ts';

type Body = BodyOf<'translation-task-update'>;

/**
 * Parses the body of `translation-task-update` to an update whose targets are not checked yet.
 *
 * @param tokenId the token of the caller
 * @param now Unix seconds
 * @throws ServiceError `invalid_request`, with a pointer to each wrong field
 */
export function parseTaskUpdate(body: Body, tokenId: string | null, now: number): TaskUpdate {
  const errors: FieldError[] = [];
  const results = parseResults(body.translation_results ?? [], errors);
  const named = parseArguments(body.args ?? [], errors);
  const override = parseOverride(body.glossary_override, now, errors);
  if (named.waive.length > 0) {
    for (const field of ['reviewer', 'reason'] as const) {
      if ((body[field] ?? '').trim() === '')
        errors.push({ pointer: `/${field}`, message: 'is required to waive a finding' });
    }
  }
  if (body.lease_seconds !== undefined && (body.worker_id ?? '') === '') {
    errors.push({
      pointer: '/worker_id',
      message: 'is required with lease_seconds: it names the owner of the claim',
    });
  }
  if (errors.length > 0) {
    throw new ServiceError('invalid_request', 'the update is not valid; "errors" names each field', {
      errors: errors.slice(0, 100),
    });
  }
  return {
    taskId: body.task_id,
    status: body.status ?? null,
    results,
    failureReason: body.failure_reason ?? null,
    providerRunId: body.provider_run_id ?? null,
    provider: body.provider ?? null,
    judgedFor: null,
    override,
    workerId: body.worker_id ?? null,
    leaseSeconds:
      body.lease_seconds === undefined ? null : Math.min(Number(body.lease_seconds), LONGEST_LEASE_SECONDS),
    reviewer: body.reviewer ?? null,
    reason: body.reason ?? null,
    force: body.force ?? false,
    tokenId,
    ...named,
  };
}

/** The fields of an update that have no effect: a claim needs units. */
export function unusedFields({
  lease_seconds,
  translation_results = [],
  args = [],
}: Body): 'lease_seconds'[] {
  const namesUnits = translation_results.length > 0 || args.some((entry) => /^(expect|hold)=/.test(entry));
  return lease_seconds === undefined || namesUnits ? [] : ['lease_seconds'];
}

/** Whether an update waives findings, which is the decision of a reviewer. */
export function waivesFindings({ args = [] }: Body): boolean {
  return args.some((entry) => entry.startsWith('waive='));
}
