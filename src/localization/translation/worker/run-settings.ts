import { ServiceError } from '../../../contract/problems/service-error.ts';
import { LONGEST_LEASE_SECONDS } from '../../../domain/translation/lease-length.ts';
import type { ChosenProvider, ProviderAccess } from './provider-access.ts';
import type { WorkerRunArguments } from './worker-job.ts';

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

/** The collaborators of the settings of a run. */
export interface SettingsWorld {
  readonly providers: Pick<ProviderAccess, 'choose'>;
  /** Throws when a named file of the memory or the Glossary cannot be read. */
  readonly checkFiles: (files: Pick<RunSettings, 'memoryPath' | 'glossaryPath'>) => Promise<void>;
  readonly isKnownTask: (taskId: string) => Promise<boolean>;
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
  world: SettingsWorld,
  args: WorkerRunArguments,
  taskId: string | null,
): Promise<RunSettings> {
  const settings: RunSettings = {
    ...(await world.providers.choose(args, 'translation')),
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
  await world.checkFiles(settings);
  if (settings.taskId !== null && !(await world.isKnownTask(settings.taskId))) {
    throw new ServiceError(
      'unknown_translation_task',
      `no translation task has the id "${settings.taskId.slice(0, 64)}"`,
    );
  }
  return settings;
}
