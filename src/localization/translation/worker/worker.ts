import type { BodyOf } from '../../../contract/actions/body-of.ts';
import { ServiceError } from '../../../contract/problems/service-error.ts';
import { messageOf } from '../../../platform/errors.ts';
import { defineAction, type DefinedAction } from '../../../engine/define-action.ts';
import type { TaskEngine } from '../../../engine/tasks/task-engine.ts';
import type { DoctorCheck } from '../../../engine/check.ts';
import { callOf, implementJob, type Job } from '../../../engine/tasks/job.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../../engine/tasks/task.ts';
import { readCharacterSheet, type CharacterSheet } from '../providers/character-sheet.ts';
import { createSpending } from '../providers/spending.ts';
import { estimateRun } from './estimate-run.ts';
import { checkProviders, type ProviderAccess } from './provider-access.ts';
import { createGlobTest } from '../../../platform/config/glob.ts';
import { resolveSettings, type RunPorts, type RunSetup } from './run-world.ts';
import { translationServiceError, translationTaskError } from '../work/translation-failure.ts';
import { createRunTally } from './run-tally.ts';
import type { WorkerConfiguration } from './worker-config.ts';
import { WORKER_RUN_JOB, type WorkerRunArguments } from './worker-job.ts';
import { runWorkers } from './worker-run.ts';

interface WorkerOptions extends RunPorts {
  readonly engine: TaskEngine;
  readonly configuration: () => WorkerConfiguration;
  readonly providers: ProviderAccess;
}

/** Assembles the runs of workers, which translate open units with a provider; none runs yet. */
export function createWorker(options: WorkerOptions): {
  readonly jobs: readonly Job[];
  readonly actions: readonly DefinedAction[];
  readonly check: DoctorCheck;
} {
  const { engine, configuration, providers } = options;
  const run = async (context: TaskContext<WorkerRunArguments>): Promise<TaskResult> => {
    try {
      const settings = await resolveSettings(options, providers, context.args, context.taskId);
      const provider = await providers.open(settings, context.signal);
      const characters = await readCharacters(configuration());
      const about = aboutFiles(configuration());
      const shared = { ...options, settings, provider, characters, about };
      if (settings.dryRun) return await estimateRun(shared, context);
      const spending = createSpending(settings);
      return await runWorkers({ ...shared, spending, tally: createRunTally(), counts: new Map() }, context);
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
            await resolveSettings(options, providers, runCall(body).args, null);
          } catch (error) {
            throw translationServiceError(error);
          }
        },
      }),
    ],
    check: { id: 'translation.providers', run: async () => await checkProviders(configuration()) },
  };
}

function runCall({
  args = {},
  reviewer: _reviewer,
  reason: _reason,
  ...body
}: BodyOf<'translation-worker-run'>): { readonly kind: string; readonly args: WorkerRunArguments } {
  return callOf(WORKER_RUN_JOB, { ...withoutEmpty(body), ...args });
}

/** What the configuration tells about the texts of a file. */
function aboutFiles({ instructions }: WorkerConfiguration): RunSetup['about'] {
  const tests = instructions.map(({ files, text }) => ({ test: createGlobTest(files), text }));
  return (destination) => tests.filter(({ test }) => test(destination)).map(({ text }) => text);
}

async function readCharacters({ charactersFile }: WorkerConfiguration): Promise<CharacterSheet> {
  if (charactersFile === undefined) return new Map();
  try {
    return await readCharacterSheet(charactersFile);
  } catch (error) {
    throw new TaskError('character_sheet_invalid', messageOf(error), { cause: error });
  }
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
