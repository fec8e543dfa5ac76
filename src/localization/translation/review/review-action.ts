import type { z } from 'zod';
import type { BodyOf } from '../../../contract/actions/body-of.ts';
import type { Caller } from '../../../contract/actions/control-scopes.ts';
import { ServiceError, type FieldError } from '../../../contract/problems/service-error.ts';
import { parseKeyValuePairs } from '../../../contract/actions/key-value-arguments.ts';
import { WORKER_ARGUMENTS } from '../../../contract/actions/worker-arguments.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import { defineAction, type DefinedAction } from '../../../engine/define-action.ts';
import type { TaskEngine } from '../../../engine/tasks/task-engine.ts';
import { callOf, type ArgumentsOf, type JobCall } from '../../../engine/tasks/job.ts';
import { parseArguments, parseOverride, parseResults, withoutTexts } from '../work/update/named-units.ts';
import type { ProviderAccess } from '../worker/provider-access.ts';
import { requireAccepted, translationServiceError } from '../work/translation-failure.ts';
import { PROOFREAD_IMPORT_JOB, PROOFREAD_JOB } from './review-jobs.ts';
import { judgeReview } from './review-pages.ts';
import { settleMemory, type MemoryPorts } from './settle-memory.ts';
import { requireExchangedFile } from '../../../engine/exchange/import-file.ts';
import { unitIdText } from '../../unit-id-text.ts';
import type { TaskResult } from '../../../engine/tasks/task.ts';
import type { TaskReview } from '../work/review/review.ts';

export interface ReviewActionOptions extends MemoryPorts {
  readonly engine: TaskEngine;
  /** Whether a token must not accept its own targets. */
  readonly fourEyes: () => boolean;
  readonly providers: ProviderAccess;
  readonly exchangeRoot: () => string;
  readonly clock: Clock;
}

type Body = BodyOf<'translation-proofread'>;

/** A release has fewer containers. */
const MOST_TASKS = 1_000_000;

/** The action `translation-proofread`: a review of a task, the import of a reviewed file, or a check of translated tasks. */
export function reviewAction(options: ReviewActionOptions): DefinedAction {
  const { engine, clock } = options;
  return defineAction(engine, 'translation-proofread', {
    isQueued: ({ task_id }) => task_id === undefined,
    inline: {
      args: withoutTexts,
      run: async (body, { tokenId }) => {
        const review = parseTaskReview(body, tokenId, options.fourEyes(), unixSeconds(clock));
        try {
          return await reviewTask(options, review);
        } catch (error) {
          throw translationServiceError(error);
        }
      },
    },
    queued: {
      unused: ({ provider, fixture_path: path }) =>
        path === undefined || (provider !== undefined && options.providers.kindOf(provider) === 'fixture')
          ? []
          : ['fixture_path'],
      job: (body, caller) =>
        body.translation_file === undefined
          ? checkCall(body)
          : importCall(body, caller, body.translation_file),
      admit: async (body) => {
        if (body.translation_file !== undefined) {
          await requireExchangedFile(options.exchangeRoot(), body.translation_file);
        } else if (body.provider !== undefined) {
          await options.providers.choose(checkCall(body).args, 'evaluation');
        }
      },
    },
  });
}

/** @throws ServiceError `invalid_request` */
function importCall({ reviewer, reason, args = [] }: Body, { tokenId }: Caller, file: string): JobCall {
  const { partial } = parsedArguments(
    PROOFREAD_IMPORT_JOB.arguments.pick({ partial: true }),
    args,
    'the import of a file',
  );
  if ((reviewer ?? '').trim() === '') {
    throw new ServiceError('invalid_request', 'the import of a file needs a reviewer', {
      errors: [{ pointer: '/reviewer', message: 'must not be blank' }],
    });
  }
  return callOf(PROOFREAD_IMPORT_JOB, {
    translation_file: file,
    reviewer: reviewer ?? '',
    reason: reason ?? null,
    token_id: tokenId,
    partial,
  });
}

/** @throws ServiceError `invalid_request` */
function checkCall({ max_tasks, provider, fixture_path, args = [] }: Body): {
  readonly kind: string;
  readonly args: ArgumentsOf<typeof PROOFREAD_JOB>;
} {
  const most = max_tasks === undefined ? {} : { max_tasks: Math.min(Number(max_tasks), MOST_TASKS) };
  if (provider === undefined) {
    if (args.length === 0) return callOf(PROOFREAD_JOB, most);
    throw new ServiceError('invalid_request', 'a check of translated tasks without a provider has no args', {
      errors: [{ pointer: '/args', message: 'must be empty without task_id, translation_file and provider' }],
    });
  }
  const limits = parsedArguments(WORKER_ARGUMENTS, args, 'an evaluation');
  return callOf(PROOFREAD_JOB, {
    ...most,
    provider,
    ...(fixture_path === undefined ? {} : { fixture_path }),
    ...limits,
  });
}

/** Parses the entries of `args`. @throws ServiceError `invalid_request` */
function parsedArguments<Schema extends z.ZodObject>(
  schema: Schema,
  args: readonly string[],
  what: string,
): z.output<Schema> {
  const parsed = parseKeyValuePairs(schema, args);
  if (parsed.ok) return parsed.value;
  throw new ServiceError('invalid_request', `args do not fit ${what}; "errors" names each`, {
    errors: parsed.error.map(({ index, message }) => ({
      pointer: index === null ? '/args' : `/args/${index}`,
      message,
    })),
  });
}

/**
 * Accepts or returns units of a task. Targets to accept are judged again first. A trial changes nothing.
 *
 * @throws ServiceError with the reason of a refusal; errors of the translation thread, TaskError of the parse index
 */
async function reviewTask(ports: MemoryPorts, review: TaskReview): Promise<TaskResult> {
  const { thread } = ports;
  const { reviewId } = requireAccepted(await thread.beginReview(review));
  try {
    if (review.decision === 'accept') await judgeReview(ports, reviewId);
    const done = requireAccepted(await thread.applyReview({ reviewId, review }));
    const memory = review.isTrial
      ? {}
      : { memory: await settleMemory(ports, { reviewId, decision: review.decision, by: review }) };
    return {
      ...(review.isTrial ? { dry_run: true } : {}),
      task: done.task,
      decision: review.decision === 'accept' ? 'accepted' : 'returned',
      written: done.written,
      repeated: done.repeated,
      units: done.units.map(({ unitId, revision, state }) => ({
        unit_id: unitIdText(unitId),
        revision,
        state,
      })),
      ...(done.appliedTo.length === 0 ? {} : { applied_to: done.appliedTo }),
      ...memory,
    };
  } finally {
    await thread.endReview(reviewId).catch(() => undefined);
  }
}

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
