import type { BodyOf } from '../../../contract/actions/body-of.ts';
import { ServiceError } from '../../../contract/problems/service-error.ts';
import { defineAction, type DefinedAction } from '../../../engine/define-action.ts';
import type { DoctorCheck } from '../../../engine/check.ts';
import { callOf, implementJob, type Job } from '../../../engine/tasks/job.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../../engine/tasks/task.ts';
import { checkProviders } from './provider-access.ts';
import { resolveSettings } from './run-world.ts';
import type { WorkerOptions } from './worker-task.ts';
import { translationServiceError, translationTaskError } from '../work/translation-failure.ts';
import { WORKER_RUN_JOB, type WorkerRunArguments } from './worker-job.ts';
import { MOST_UNITS, suggestedUnits } from './suggested-units.ts';

/** Assembles the runs of workers, which translate open units with a provider; none runs yet. */
export function createWorker(options: WorkerOptions): {
  readonly jobs: readonly Job[];
  readonly actions: readonly DefinedAction[];
  readonly check: DoctorCheck;
} {
  const { engine, configuration, providers } = options;
  const run = async (context: TaskContext<WorkerRunArguments>): Promise<TaskResult> => {
    try {
      const suggested = requestedUnits(context.args);
      // The code of runs is loaded with the first of them.
      const { runWorkerTask } = await import('./worker-task.ts');
      return await runWorkerTask(options, suggested, context);
    } catch (error) {
      context.signal.throwIfAborted();
      throw taskErrorOf(translationTaskError(error));
    }
  };
  return {
    jobs: [implementJob(WORKER_RUN_JOB, run)],
    actions: [
      defineAction(engine, 'translation-worker-run', {
        unused: ({ provider, fixture_path: path }) =>
          path === undefined || providers.kindOf(provider) === 'fixture' ? [] : ['fixture_path'],
        job: runCall,
        admit: async (body) => {
          try {
            const { args } = runCall(body);
            requestedUnits(args);
            await resolveSettings(options, providers, args, null);
          } catch (error) {
            throw translationServiceError(error);
          }
        },
      }),
    ],
    check: { id: 'translation.providers', run: async () => await checkProviders(configuration()) },
  };
}

/** The units that a run only suggests targets for; `null` for a run that stores drafts. @throws ServiceError `invalid_request` */
function requestedUnits({
  suggest,
  try_text: tried,
  dry_run: isDryRun,
  task_id: taskId,
}: WorkerRunArguments): readonly Uint8Array[] | null {
  const units = suggest === undefined ? null : suggestedUnits(suggest);
  const errors = [
    ...([suggest !== undefined, tried !== undefined, isDryRun].filter(Boolean).length > 1
      ? [{ pointer: '/args', message: 'suggest=, try_text= and dry_run=true exclude each other; send one' }]
      : []),
    ...(suggest !== undefined && units === null
      ? [
          {
            pointer: '/args',
            message: `suggest= must be "open", or ids of at most ${MOST_UNITS} units with commas between them`,
          },
        ]
      : []),
    ...(suggest !== undefined && taskId === undefined
      ? [{ pointer: '/task_id', message: 'is required with suggest=' }]
      : []),
  ];
  if (errors.length === 0) return units;
  throw new ServiceError('invalid_request', 'the request of the run is not valid; "errors" says why', {
    errors,
  });
}

function runCall({
  args = {},
  reviewer: _reviewer,
  reason: _reason,
  ...body
}: BodyOf<'translation-worker-run'>): { readonly kind: string; readonly args: WorkerRunArguments } {
  return callOf(WORKER_RUN_JOB, { ...withoutEmpty(body), ...args });
}

function withoutEmpty<Body extends object>(body: Body): Body {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== '')) as Body;
}

/** A refusal of another part as the failure of the run; the run is retried when one is unavailable. */
function taskErrorOf(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error;
  const retryable = error.code === 'backend_unavailable';
  return new TaskError(error.code, error.message, { retryable, cause: error });
}
