import type { z } from 'zod';
import type { BodyOf } from '../../../contract/actions/body-of.ts';
import type { Caller } from '../../../contract/actions/control-scopes.ts';
import { ServiceError } from '../../../contract/problems/service-error.ts';
import { parseKeyValuePairs } from '../../../contract/actions/key-value-arguments.ts';
import { WORKER_ARGUMENTS } from '../../../contract/actions/worker-arguments.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import { defineAction, type DefinedAction } from '../../../engine/define-action.ts';
import type { TaskEngine } from '../../../engine/tasks/task-engine.ts';
import { callOf, type ArgumentsOf, type JobCall } from '../../../engine/tasks/job.ts';
import { withoutTexts } from '../work/update/named-units.ts';
import type { ProviderAccess } from '../worker/provider-access.ts';
import { translationServiceError } from '../work/translation-failure.ts';
import type { ReviewConfiguration } from './review-config.ts';
import { PROOFREAD_IMPORT_JOB, PROOFREAD_JOB } from './review-jobs.ts';
import type { ReviewPorts } from './review-pages.ts';
import { parseTaskReview } from './review-request.ts';
import { reviewTask } from './review-task.ts';
import type { MemoryPorts } from './settle-memory.ts';
import { requireExchangedFile } from '../../../engine/exchange/import-file.ts';

export interface ReviewActionOptions extends ReviewPorts, MemoryPorts {
  readonly engine: TaskEngine;
  readonly configuration: () => ReviewConfiguration;
  readonly providers: ProviderAccess;
  readonly exchangeRoot: () => string;
  readonly clock: Clock;
}

type Body = BodyOf<'translation-proofread'>;

/** A release has fewer containers. */
const MOST_TASKS = 1_000_000;

/** Creates the action `translation-proofread`: a review of a task, the import of a reviewed file, or a check of translated tasks. */
export function createReviewAction(options: ReviewActionOptions): DefinedAction {
  const { engine, configuration, clock } = options;
  return defineAction(engine, 'translation-proofread', {
    isQueued: ({ task_id }) => task_id === undefined,
    inline: {
      args: withoutTexts,
      run: async (body, { tokenId }) => {
        const { fourEyes } = configuration();
        const review = parseTaskReview(body, { tokenId, fourEyes, now: unixSeconds(clock) });
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
