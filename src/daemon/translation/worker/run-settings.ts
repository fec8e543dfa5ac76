import { ServiceError } from '../../../contract/problems/service-error.ts';
import { LONGEST_LEASE_SECONDS } from '../../../domain/translation/lease-length.ts';
import { findBelowRoot } from '../../../platform/files/below-root.ts';
import { providerNamed, type ProviderConfiguration } from '../providers/provider-config.ts';
import type { WorkerConfiguration } from './worker-config.ts';
import type { WorkerRunArguments } from './worker-job.ts';

/** How one run works. */
export interface RunSettings {
  readonly provider: string;
  /** The file of prepared translations; `null` for providers without one. */
  readonly fixturePath: string | null;
  readonly concurrency: number;
  readonly maxAttempts: number;
  readonly leaseSeconds: number;
  readonly retryBackoffSeconds: number;
  readonly maxTasks: number;
  /** Owner of the leases. */
  readonly owner: string;
  readonly taskId: string | null;
  readonly memoryPath: string | undefined;
  readonly glossaryPath: string | undefined;
  readonly force: boolean;
  readonly dryRun: boolean;
  readonly maxTokens: number | null;
  readonly maxCost: number | null;
}

/** The collaborators of the settings of a run. */
export interface SettingsWorld {
  readonly configuration: () => WorkerConfiguration;
  /** Folder of the files of prepared translations. */
  readonly fixtureRoot: () => string;
  /** Throws when a named file of the memory or the Glossary cannot be read. */
  readonly checkFiles: (files: Pick<RunSettings, 'memoryPath' | 'glossaryPath'>) => Promise<void>;
  /** Whether there is a translation task with this id. */
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
  const { provider: defaultProvider, providers, maxTokens, maxCost } = world.configuration();
  const provider = args.provider ?? defaultProvider ?? null;
  const known = provider === null ? null : providerNamed(providers, provider);
  if (provider === null || known === null) throw notConfigured(provider, Object.keys(providers));
  const settings: RunSettings = {
    provider,
    fixturePath: await fixtureOf(world, known, args),
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
    maxTokens: args.max_tokens ?? maxTokens ?? null,
    maxCost: args.max_cost ?? maxCost ?? null,
  };
  requirePrices(settings, known);
  await world.checkFiles(settings);
  if (settings.taskId !== null && !(await world.isKnownTask(settings.taskId))) {
    throw new ServiceError(
      'unknown_translation_task',
      `no translation task has the id "${settings.taskId.slice(0, 64)}"`,
    );
  }
  return settings;
}

function notConfigured(provider: string | null, names: readonly string[]): ServiceError {
  const configured = [...names, 'fixture', 'memory-only'].join(', ');
  const detail =
    provider === null
      ? `the run names no provider, and translation.provider is not configured; name one of ${configured}`
      : `no provider has the name "${provider.slice(0, 64)}"; there are ${configured}`;
  return new ServiceError('provider_not_configured', detail);
}

async function fixtureOf(
  { fixtureRoot }: SettingsWorld,
  { kind }: ProviderConfiguration,
  { fixture_path: path }: WorkerRunArguments,
): Promise<string | null> {
  if (kind !== 'fixture') return null;
  if (path === undefined) {
    throw new ServiceError('invalid_request', 'a provider of the kind "fixture" needs fixture_path', {
      errors: [{ pointer: '/fixture_path', message: 'is required with a provider of the kind "fixture"' }],
    });
  }
  const found = await findBelowRoot(fixtureRoot(), path);
  if (found !== null) return found;
  throw new ServiceError('file_not_found', `there is no file "${path}" in ${fixtureRoot()}`);
}

/** A cap on costs would never be reached without prices. */
function requirePrices({ maxCost, provider }: RunSettings, { prices, url }: ProviderConfiguration): void {
  if (maxCost === null || url === undefined || Object.values(prices).some((price) => price > 0)) return;
  throw new ServiceError(
    'invalid_request',
    `max_cost needs translation.providers.${provider}.prices; configure them, or use max_tokens`,
    { errors: [{ pointer: '/args', message: 'max_cost needs the prices of the provider' }] },
  );
}
