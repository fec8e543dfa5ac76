import type { BodyOf } from '../../../contract/actions/body-of.ts';
import type { Caller } from '../../../contract/actions/control-scopes.ts';
import { ServiceError } from '../../../contract/problems/service-error.ts';
import { parseKeyValuePairs } from '../../../contract/actions/key-value-arguments.ts';
import { findBelowRoot } from '../../../platform/files/below-root.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import { defineAction, type DefinedAction } from '../../api/define-action.ts';
import { callOf, type JobCall } from '../../tasks/job.ts';
import type { TaskEngine } from '../../tasks/task-engine.ts';
import { withoutTexts } from '../work/named-units.ts';
import { translationServiceError } from '../work/translation-failure.ts';
import type { ReviewConfiguration } from './review-config.ts';
import { PROOFREAD_IMPORT_JOB, PROOFREAD_JOB } from './review-jobs.ts';
import type { ReviewPorts } from './review-pages.ts';
import { parseTaskReview } from './review-request.ts';
import { reviewTask } from './review-task.ts';
import type { MemoryPorts } from './settle-memory.ts';

export interface ReviewActionOptions extends ReviewPorts, MemoryPorts {
  readonly engine: Pick<TaskEngine, 'submit' | 'recordInline'>;
  readonly configuration: () => ReviewConfiguration;
  /** The folder of exchanged files. */
  readonly exchangeRoot: () => string;
  readonly clock: Clock;
}

type Body = BodyOf<'translation-proofread'>;

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
      queue: async (body, caller) =>
        body.translation_file === undefined
          ? checkCall(body)
          : await importCall(options, body, caller, body.translation_file),
    },
  });
}

/** @throws ServiceError `invalid_request`, `invalid_path`, `file_not_found` */
async function importCall(
  { exchangeRoot }: ReviewActionOptions,
  { reviewer, reason, args = [] }: Body,
  { tokenId }: Caller,
  file: string,
): Promise<JobCall> {
  const parsed = parseKeyValuePairs(PROOFREAD_IMPORT_JOB.arguments.pick({ partial: true }), args);
  if (!parsed.ok) {
    throw new ServiceError('invalid_request', 'args do not fit the import of a file; "errors" names each', {
      errors: parsed.error.map(({ index, message }) => ({
        pointer: index === null ? '/args' : `/args/${index}`,
        message,
      })),
    });
  }
  if ((reviewer ?? '').trim() === '') {
    throw new ServiceError('invalid_request', 'the import of a file needs a reviewer', {
      errors: [{ pointer: '/reviewer', message: 'must not be blank' }],
    });
  }
  if ((await findBelowRoot(exchangeRoot(), file)) === null) {
    throw new ServiceError('file_not_found', `the exchange folder has no file "${file}"`);
  }
  return callOf(PROOFREAD_IMPORT_JOB, {
    translation_file: file,
    reviewer: reviewer ?? '',
    reason: reason ?? null,
    token_id: tokenId,
    ...parsed.value,
  });
}

/** @throws ServiceError `invalid_request`, `provider_not_configured` */
function checkCall({ max_tasks, provider, args = [] }: Body): JobCall {
  if (args.length > 0) {
    throw new ServiceError('invalid_request', 'a check of translated tasks has no args', {
      errors: [{ pointer: '/args', message: 'must be empty without task_id and translation_file' }],
    });
  }
  if (provider !== undefined) {
    throw new ServiceError(
      'provider_not_configured',
      `the provider "${provider.slice(0, 64)}" cannot evaluate translations: no kind of provider can; leave provider out`,
    );
  }
  return callOf(
    PROOFREAD_JOB,
    max_tasks === undefined ? {} : { max_tasks: Math.min(Number(max_tasks), MOST_TASKS) },
  );
}

/** A release has fewer containers. */
const MOST_TASKS = 1_000_000;
