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
import type { ProviderAccess } from './provider-access.ts';
import { createProviderCheck } from './provider-check.ts';
import { resolveSettings, type SettingsWorld } from './run-settings.ts';
import { translationServiceError, translationTaskError } from '../work/translation-failure.ts';
import { createRunTally } from './run-tally.ts';
import type { RunPorts } from './run-world.ts';
import type { WorkerConfiguration } from './worker-config.ts';
import { WORKER_RUN_JOB, type WorkerRunArguments } from './worker-job.ts';
import { runWorkers } from './worker-run.ts';

interface WorkerOptions extends RunPorts {
  readonly engine: TaskEngine;
  readonly configuration: () => WorkerConfiguration;
  readonly providers: ProviderAccess;
}

/** Runs of workers: they translate open units with a provider. */
export interface Worker {
  readonly jobs: readonly Job[];
  readonly actions: readonly DefinedAction[];
  readonly check: DoctorCheck;
}

/** Assembles the runs of workers; none runs yet. */
export function createWorker(options: WorkerOptions): Worker {
  const { engine, configuration, providers } = options;
  const world = settingsWorld(options);
  const run = async (context: TaskContext<WorkerRunArguments>): Promise<TaskResult> => {
    try {
      const settings = await resolveSettings(world, context.args, context.taskId);
      const provider = await providers.open(settings, context.signal);
      const characters = await readCharacters(configuration());
      const shared = { ...options, settings, provider, characters };
      if (settings.dryRun) return await estimateRun(shared, context);
      const spending = createSpending(settings);
      return await runWorkers({ ...shared, spending, tally: createRunTally() }, context);
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
            await resolveSettings(world, runCall(body).args, null);
          } catch (error) {
            throw translationServiceError(error);
          }
        },
      }),
    ],
    check: createProviderCheck(configuration),
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

function settingsWorld(options: WorkerOptions): SettingsWorld {
  const { providers, memory, glossary, languages, thread } = options;
  return {
    providers,
    checkFiles: async ({ memoryPath, glossaryPath }) => {
      if (memoryPath !== undefined) await readOneOf(memory, memoryPath, languages());
      if (glossaryPath !== undefined) await glossary.diagnose({ units: [], glossaryPath });
    },
    isKnownTask: async (taskId) => (await thread.openUnits({ taskId, maxTasks: 1 })).isKnown,
  };
}

/** Looks one text up, so that a file that cannot be used is found before the run. */
async function readOneOf(
  memory: RunPorts['memory'],
  path: string,
  { sourceLanguage, targetLanguage }: ReturnType<RunPorts['languages']>,
): Promise<void> {
  const pair = { source_language: sourceLanguage, target_language: targetLanguage };
  try {
    await memory.lookUp([{ ...pair, source_text: '', context: {}, depth: 'trusted', limit: 1 }], { path });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'file_not_found' || code === 'invalid_path') {
      throw new ServiceError(code, messageOf(error), { cause: error });
    }
    throw new ServiceError('backend_unavailable', messageOf(error), { cause: error });
  }
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
