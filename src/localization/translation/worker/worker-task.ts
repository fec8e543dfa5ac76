import { TaskError, type TaskContext, type TaskResult } from '../../../engine/tasks/task.ts';
import type { TaskEngine } from '../../../engine/tasks/task-engine.ts';
import { messageOf } from '../../../platform/errors.ts';
import { readCharacterSheet, type CharacterSheet } from '../providers/character-sheet.ts';
import { createSpending } from '../providers/spending.ts';
import { estimateRun } from './estimate-run.ts';
import { createRunTally } from './run-tally.ts';
import { createRunTerms } from './run-terms.ts';
import type { ProviderAccess } from './provider-access.ts';
import { resolveSettings, type RunPorts } from './run-world.ts';
import { suggestTargets } from './suggest-targets.ts';
import { tryText } from './try-text.ts';
import { aboutFiles, kindsOfTexts, type WorkerConfiguration } from './worker-config.ts';
import type { WorkerRunArguments } from './worker-job.ts';
import { runWorkers } from './worker-run.ts';

/** What workers use. */
export interface WorkerOptions extends RunPorts {
  readonly engine: TaskEngine;
  readonly configuration: () => WorkerConfiguration;
  readonly providers: ProviderAccess;
}

/**
 * Runs workers, or only tries a text, estimates, or suggests targets.
 *
 * @param suggested the units that targets are suggested for; `null` for a run that stores drafts
 * @throws TaskError; ServiceError; the signal's reason; an error of the translation thread
 */
export async function runWorkerTask(
  options: WorkerOptions,
  suggested: readonly Uint8Array[] | null,
  context: TaskContext<WorkerRunArguments>,
): Promise<TaskResult> {
  const { configuration, providers } = options;
  const settings = await resolveSettings(options, providers, context.args, context.taskId);
  const provider = await providers.open(settings, context.signal);
  const characters = await readCharacters(configuration());
  const about = aboutFiles(configuration());
  const kindOf = kindsOfTexts(configuration());
  const shared = { ...options, settings, provider, characters, about, kindOf };
  const path = settings.glossaryPath ?? null;
  const terms = createRunTerms(options.glossary, options.languages, path, context.signal);
  const { try_text: tried } = context.args;
  if (tried !== undefined) return await tryText(shared, terms, tried, context.signal);
  if (settings.dryRun) return await estimateRun(shared, context);
  const spending = createSpending(settings);
  const world = { ...shared, spending, tally: createRunTally(), counts: new Map(), terms };
  return suggested === null
    ? await runWorkers(world, context)
    : await suggestTargets(world, suggested, context);
}

async function readCharacters({ charactersFile }: WorkerConfiguration): Promise<CharacterSheet> {
  if (charactersFile === undefined) return new Map();
  try {
    return await readCharacterSheet(charactersFile);
  } catch (error) {
    throw new TaskError('character_sheet_invalid', messageOf(error), { cause: error });
  }
}
