import { Gauge } from 'prom-client';
import { PARSE_ERROR_CODES } from '../contract/reports/parse-error-codes.ts';
import { MEMORY_STATES, PARSE_STATUSES, TRANSLATION_STATUSES } from '../contract/schemas/vocabulary.ts';
import { UNIT_STATES } from '../domain/translation/unit-state.ts';
import { createRegistry, type Registry } from '../platform/metrics/metrics.ts';
import { SKIP_REASONS } from '../localization/parse/container/parsed-container.ts';
import type { Backup } from './backup/backup.ts';
import type { Memory } from '../localization/memory/memory.ts';
import type { Glossary } from '../localization/glossary/glossary.ts';
import type { Parse } from '../localization/parse/parse.ts';
import type { Translation } from '../localization/translation/translation.ts';
import { severityOf, type Doctor } from './reports/doctor-report.ts';
import type { Supervision } from './supervisor/supervision.ts';
import { addWorkMetrics, type WorkMetricsSources } from './work-metrics.ts';
import type { KindHistory } from '../engine/tasks/task-reads.ts';

/** Where the metrics of the daemon come from; they are read on every collection. */
export interface DaemonMetricsOptions {
  readonly version: string;
  readonly supervision: Supervision | null;
  readonly syncHistory: () => Pick<KindHistory, 'last' | 'succeededAt' | 'consecutiveFailures'>;
  /** When the next sync is planned, Unix seconds, or `null`. */
  readonly nextSyncAt: () => number | null;
  readonly doctor: Pick<Doctor, 'latest'>;
  readonly parse: Pick<Parse, 'latestStatus'>;
  readonly translation: Pick<Translation, 'latestStatus'>;
  readonly backup: Pick<Backup, 'latest'>;
  readonly backupHistory: () => Pick<KindHistory, 'consecutiveFailures'>;
  readonly memory: Pick<Memory, 'latestCounts'>;
  readonly glossary: Pick<Glossary, 'latestSummary'>;
  readonly work: WorkMetricsSources;
}

/** Creates the registry of the daemon. A time that is not known has no sample. */
export function createDaemonMetrics(options: DaemonMetricsOptions): Registry {
  const registry = createRegistry({ name: 'slipway-daemon', version: options.version });
  const gauge = (name: string, help: string, read: () => number | null): void => {
    addGauge(registry, { name, help }, read);
  };
  const { syncHistory, supervision } = options;
  gauge('sync_last_end_timestamp_seconds', 'When the last sync ended.', () => {
    return syncHistory().last?.finished_at ?? null;
  });
  gauge('sync_last_success_timestamp_seconds', 'When the last successful sync ended.', () => {
    return syncHistory().succeededAt;
  });
  gauge('sync_next_timestamp_seconds', 'When the next sync is planned.', options.nextSyncAt);
  gauge('sync_consecutive_failures', 'Failed syncs since the last success.', () => {
    return syncHistory().consecutiveFailures;
  });
  gauge('restarts', 'How often the supervisor started the daemon again since the container started.', () => {
    return supervision?.restarts ?? 0;
  });
  gauge('backup_last_success_timestamp_seconds', 'When the newest complete backup was made.', () => {
    return options.backup.latest()?.created_at ?? null;
  });
  gauge('backup_bytes', 'Size of the newest complete backup.', () => options.backup.latest()?.bytes ?? null);
  gauge('backup_consecutive_failures', 'Failed backups since the last success.', () => {
    return options.backupHistory().consecutiveFailures;
  });
  const checks = new Gauge({
    name: 'slipway_daemon_check_status',
    help: 'Status of each doctor check: 0 ok, 1 degraded, 2 failing.',
    labelNames: ['check'],
    registers: [registry],
    collect: () => {
      for (const { id, status } of options.doctor.latest()) checks.set({ check: id }, severityOf(status));
    },
  });
  addParseMetrics(registry, options.parse);
  addTranslationMetrics(registry, options.translation);
  addMemoryMetrics(registry, options.memory);
  addGlossaryMetrics(registry, options.glossary);
  addWorkMetrics(registry, options.work);
  return registry;
}

/** The work on translations as it was last read; the doctor reads it every minute. Without samples while it cannot be used. */
function addTranslationMetrics(
  registry: Registry,
  { latestStatus }: Pick<Translation, 'latestStatus'>,
): void {
  type Status = NonNullable<ReturnType<typeof latestStatus>>;
  const counts = (
    { name, label, help }: Readonly<Record<'name' | 'label' | 'help', string>>,
    known: readonly string[],
    read: (status: Status, value: string) => number,
  ): void => {
    const created: Gauge<string> = new Gauge({
      name: `slipway_daemon_translation_${name}`,
      help,
      labelNames: [label],
      registers: [registry],
      collect: () => {
        const status = latestStatus();
        created.reset();
        if (status === null) return;
        for (const value of known) created.set({ [label]: value }, read(status, value));
      },
    });
  };
  counts(
    { name: 'tasks', label: 'status', help: 'Translation tasks, by status.' },
    TRANSLATION_STATUSES,
    ({ tasks }, status) => tasks[status] ?? 0,
  );
  counts(
    { name: 'units', label: 'state', help: 'Units of the translated release, by state.' },
    UNIT_STATES,
    ({ units, skippedUnits, excludedUnits }, state) =>
      countOf(units, state) + countOf(skippedUnits, state) + countOf(excludedUnits, state),
  );
  const leases = 'Chunks that workers have leased, by whether the lease is open or has expired.';
  counts({ name: 'leases', label: 'state', help: leases }, LEASE_STATES, (status, state) =>
    countOf(status.leases, state),
  );
  const failed = { name: 'translation_failed_chunks', help: 'Chunks whose attempts are used up.' };
  addGauge(registry, failed, () => latestStatus()?.failedChunks ?? null);
}

const LEASE_STATES = ['open', 'expired'] as const;

function countOf(counts: Readonly<Record<string, number>>, name: string): number {
  return counts[name] ?? 0;
}

/** Adds a gauge that is read on every collection, and has no sample while its value is `null`. */
function addGauge(
  registry: Registry,
  { name, help }: Readonly<Record<'name' | 'help', string>>,
  read: () => number | null,
): void {
  const created: Gauge = new Gauge({
    name: `slipway_daemon_${name}`,
    help,
    registers: [registry],
    collect: () => {
      const value = read();
      if (value === null) created.remove();
      else created.set(value);
    },
  });
}

/** The main Glossary as it was last read. */
function addGlossaryMetrics(registry: Registry, { latestSummary }: Pick<Glossary, 'latestSummary'>): void {
  addGauge(registry, { name: 'glossary_available', help: 'Whether the Glossary can be used.' }, () =>
    latestSummary() === null ? 0 : 1,
  );
  addGauge(
    registry,
    { name: 'glossary_generation', help: 'Changes of the Glossary since it was created.' },
    () => latestSummary()?.generation ?? null,
  );
  const terms: Gauge<'status'> = new Gauge({
    name: 'slipway_daemon_glossary_terms',
    help: 'Terms of the Glossary, by review status.',
    labelNames: ['status'],
    registers: [registry],
    collect: () => {
      terms.reset();
      for (const [status, count] of Object.entries(latestSummary()?.counts ?? {}))
        terms.set({ status }, count);
    },
  });
}

/** The index that reports show. A label that the contract names has a sample from the start, so that its growth is seen. */
function addParseMetrics(registry: Registry, { latestStatus }: Pick<Parse, 'latestStatus'>): void {
  type Status = NonNullable<ReturnType<typeof latestStatus>>;
  const total = (name: string, help: string, read: (status: Status) => number | null): void => {
    addGauge(registry, { name: `parse_${name}`, help }, () => {
      const status = latestStatus();
      return status === null ? null : read(status);
    });
  };
  const counts = (
    { name, label, help }: Readonly<Record<'name' | 'label' | 'help', string>>,
    known: readonly string[],
    read: (status: Status) => Readonly<Record<string, number>>,
  ): void => {
    const created: Gauge<string> = new Gauge({
      name: `slipway_daemon_parse_${name}`,
      help,
      labelNames: [label],
      registers: [registry],
      collect: () => {
        const status = latestStatus();
        created.reset();
        for (const value of known) created.set({ [label]: value }, 0);
        for (const [value, count] of Object.entries(status === null ? {} : read(status))) {
          created.set({ [label]: value }, count);
        }
      },
    });
  };
  total('units', 'Text units of the indexed release.', ({ units }) => units);
  counts(
    { name: 'containers', label: 'status', help: 'Containers of the indexed release, by parse status.' },
    PARSE_STATUSES,
    (status) => status.by_parse_status,
  );
  counts(
    { name: 'errors', label: 'code', help: 'Errors in the indexed release, by code.' },
    Object.keys(PARSE_ERROR_CODES),
    (status) => status.errors_by_code,
  );
  counts(
    {
      name: 'skipped',
      label: 'reason',
      help: 'Skipped strings and files of the indexed release, by reason.',
    },
    Object.keys(SKIP_REASONS),
    (status) => status.skipped,
  );
  total('seconds', 'Time that parsing the indexed release took, in sum.', ({ seconds }) => seconds);
  total('bytes', 'Size of the containers of the indexed release.', ({ bytes }) => bytes);
  total(
    'last_success_timestamp_seconds',
    'When the indexed release was completely indexed.',
    (status) => status.indexed_at,
  );
}

/** The Translation Memory as the doctor saw it last; without samples while its file cannot be used. */
function addMemoryMetrics(registry: Registry, { latestCounts }: Pick<Memory, 'latestCounts'>): void {
  const records: Gauge<'state'> = new Gauge({
    name: 'slipway_daemon_memory_records',
    help: 'Records of the Translation Memory, by state.',
    labelNames: ['state'],
    registers: [registry],
    collect: () => {
      const found = latestCounts();
      records.reset();
      if (found === null) return;
      for (const state of MEMORY_STATES) records.set({ state }, found.counts[state]);
    },
  });
  const conflicts = { name: 'memory_conflicts', help: 'Texts with several trusted translations.' };
  addGauge(registry, conflicts, () => latestCounts()?.counts.conflict_groups ?? null);
}
