import type { TextKind } from '../../../domain/translation/kind-of-text.ts';
import type { LanguagePair } from '../../../domain/glossary/term.ts';
import type { Logger } from '../../../platform/logging/logging.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import type { GlossaryPort } from '../../glossary/glossary.ts';
import type { TranslationMemory } from '../../memory/translation-memory.ts';
import type { TargetOffers } from '../judge/offer-targets.ts';
import type { TargetJudge } from '../judge/target-judge.ts';
import type { TextRules } from '../judge/text-rules.ts';
import type { UnitSource } from '../judge/unit-source.ts';
import type { IndexedUnit } from '../../parse/index/read/units-after.ts';
import type { CharacterSheet } from '../providers/character-sheet.ts';
import type { GlossaryTerms, RequestCounts, TranslationProvider } from '../providers/provider.ts';
import type { Spending } from '../providers/spending.ts';
import type { TranslationThread } from '../work/translation-worker.ts';
import type { RunTally } from './run-tally.ts';
import { ServiceError } from '../../../contract/problems/service-error.ts';
import { LONGEST_LEASE_SECONDS } from '../../../domain/translation/lease-length.ts';
import { messageOf } from '../../../platform/errors.ts';
import type { ChosenProvider, ProviderAccess } from './provider-access.ts';
import type { WorkerRunArguments } from './worker-job.ts';

/** The other parts that runs use. */
export interface RunPorts {
  readonly thread: TranslationThread;
  readonly units: UnitSource;
  readonly judge: TargetJudge;
  /** @throws ServiceError `backend_unavailable` */
  readonly rules: () => Promise<TextRules>;
  readonly memory: TranslationMemory;
  readonly offers: TargetOffers;
  readonly glossary: GlossaryPort;
  readonly languages: () => LanguagePair;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
}

/** How a run works, and with what. */
export interface RunSetup extends RunPorts {
  readonly settings: RunSettings;
  readonly provider: TranslationProvider;
  readonly characters: CharacterSheet;
  /** What language models are told about the texts of a file. */
  readonly about: (destination: string) => readonly string[];
  readonly kindOf: (unit: IndexedUnit) => TextKind | null;
}

/** Everything that the chunks of one run share. */
export interface RunWorld extends RunSetup {
  readonly spending: Spending;
  readonly tally: RunTally;
  /** How often the run has asked for units that have no translation yet. */
  readonly counts: RequestCounts;
  readonly terms: GlossaryTerms;
}

/** How one run works. */
export interface RunSettings extends ChosenProvider {
  readonly concurrency: number;
  readonly maxAttempts: number;
  readonly leaseSeconds: number;
  readonly retryBackoffSeconds: number;
  readonly maxTasks: number;
  readonly owner: string;
  readonly taskId: string | null;
  readonly memoryPath: string | undefined;
  readonly glossaryPath: string | undefined;
  readonly force: boolean;
  readonly dryRun: boolean;
}

/** Bounds of the values of a caller; larger values count as these. */
const MOST = { attempts: 1000, backoffSeconds: 86_400, tasks: 1_000_000_000 };

/**
 * Works out how a run works, and checks everything that it names.
 *
 * @param taskId of the daemon's task; `null` before there is one
 * @throws ServiceError `provider_not_configured`, `invalid_request`, `invalid_path`, `file_not_found`, `unknown_translation_task`,
 * `backend_unavailable`
 */
export async function resolveSettings(
  ports: RunPorts,
  providers: ProviderAccess,
  args: WorkerRunArguments,
  taskId: string | null,
): Promise<RunSettings> {
  const settings: RunSettings = {
    ...(await providers.choose(args, 'translation')),
    concurrency: args.concurrency,
    maxAttempts: Math.min(args.max_attempts, MOST.attempts),
    leaseSeconds: Math.min(args.lease_seconds, LONGEST_LEASE_SECONDS),
    retryBackoffSeconds: Math.min(args.retry_backoff_seconds, MOST.backoffSeconds),
    maxTasks: Math.min(args.max_tasks, MOST.tasks),
    owner: args.worker_id ?? taskId ?? '',
    taskId: args.task_id ?? null,
    memoryPath: args.translation_memory_path,
    glossaryPath: args.glossary_path,
    force: args.force,
    dryRun: args.dry_run,
  };
  await checkFiles(ports, settings);
  const wanted = settings.taskId;
  if (
    wanted !== null &&
    !(await ports.thread.openUnits({ taskId: wanted, maxTasks: 1, stepUnits: 1 })).isKnown
  ) {
    throw new ServiceError(
      'unknown_translation_task',
      `no translation task has the id "${wanted.slice(0, 64)}"`,
    );
  }
  return settings;
}

/** Reads from the named files of the memory and the Glossary, so that one that cannot be used is found before the run. */
async function checkFiles(
  { memory, glossary, languages }: RunPorts,
  { memoryPath: path, glossaryPath }: RunSettings,
): Promise<void> {
  if (path !== undefined) {
    const { sourceLanguage, targetLanguage } = languages();
    const pair = { source_language: sourceLanguage, target_language: targetLanguage };
    try {
      await memory.lookUp([{ ...pair, source_text: '', context: {}, depth: 'trusted', limit: 1 }], { path });
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : null;
      const isOfFile = code === 'file_not_found' || code === 'invalid_path';
      throw new ServiceError(isOfFile ? code : 'backend_unavailable', messageOf(error), { cause: error });
    }
  }
  if (glossaryPath !== undefined) await glossary.diagnose({ units: [], glossaryPath });
}
