import { Counter, Gauge, Histogram } from 'prom-client';
import type { AttestationStatement } from '../domain/verdict/attestation.ts';
import { PARSE_ERROR_CODES } from '../contract/reports/parse-error-codes.ts';
import {
  ENDED_TASK_STATUSES,
  MEMORY_STATES,
  PARSE_STATUSES,
  TASK_LANES,
  TRANSLATION_STATUSES,
} from '../contract/schemas/vocabulary.ts';
import { CHANNELS, type Channel } from '../domain/release/channel.ts';
import { endedAs } from '../domain/translation/run-brief.ts';
import { UNIT_STATES } from '../domain/translation/unit-state.ts';
import type { TaskEngine } from '../engine/tasks/task-engine.ts';
import type { KindHistory } from '../engine/tasks/task-reads.ts';
import type { Task } from '../engine/tasks/task.ts';
import type { Glossary } from '../localization/glossary/glossary.ts';
import type { Memory } from '../localization/memory/memory.ts';
import { SKIP_REASONS } from '../localization/parse/container/parsed-container.ts';
import type { Parse } from '../localization/parse/parse.ts';
import type { Translation } from '../localization/translation/translation.ts';
import { WORKER_RUN_JOB } from '../localization/translation/worker/worker-job.ts';
import { createRegistry, type Registry } from '../platform/metrics/metrics.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { ReleaseDamage } from '../releases/checks/release-damage.ts';
import { SYNC_JOB } from '../releases/jobs/release-jobs.ts';
import type { ObjectRegistry } from '../releases/records/object-registry.ts';
import { UPSTREAM_ERROR_CODES } from '../upstream/upstream.ts';
import type { CompleteBackup } from './backup/backup-list.ts';
import { severityOf, type DoctorResult } from './reports/doctor-report.ts';

/** Where the metrics of the daemon come from; they are read on every collection. */
export interface DaemonMetricsSources {
  readonly version: string;
  readonly clock: Clock;
  /** How often the supervisor restarted the daemon. */
  readonly restarts: number;
  readonly checks: () => readonly DoctorResult[];
  readonly syncHistory: () => KindHistory;
  /** When the next sync is planned, Unix seconds, or `null`. */
  readonly nextSyncAt: () => number | null;
  readonly newestBackup: () => CompleteBackup | null;
  readonly backupHistory: () => KindHistory;
  readonly indexStatus: Parse['latestStatus'];
  readonly translationStatus: Translation['latestStatus'];
  readonly memoryCounts: Memory['latestCounts'];
  readonly glossarySummary: Glossary['latestSummary'];
  /** The kinds of all tasks. */
  readonly taskKinds: () => readonly string[];
  readonly onTaskFinished: TaskEngine['onFinished'];
  readonly queues: TaskEngine['queues'];
  /** When the next schedule is due, Unix seconds, or `null`. */
  readonly nextDueAt: () => number | null;
  readonly storedBytes: ObjectRegistry['totalBytes'];
  /** The size of the current release of a channel; 0 for none. */
  readonly releaseBytes: (channel: Channel) => number;
  readonly damage: ReleaseDamage['found'];
  readonly attested: () => AttestationStatement | null;
}

/** Upper bounds of the duration of a sync, seconds: from nothing new to a whole release over a slow line. */
const SYNC_BUCKETS = [1, 5, 15, 60, 300, 900, 3600, 14_400];
/** Milliseconds for which the size of the store is remembered: finding it reads one row for each object. */
const STORE_SIZE_MS = 60_000;
const LEASE_STATES = ['open', 'expired'] as const;

/**
 * Creates the registry of the daemon. A value that is not known has no sample. A label of the contract has a sample from the start,
 * so that its growth is seen.
 */
export function createDaemonMetrics(sources: DaemonMetricsSources): Registry {
  const registry = createRegistry({ name: 'slipway-daemon', version: sources.version });
  const gauges = gaugesOf(registry);
  addStateMetrics(gauges, sources);
  addParseMetrics(gauges, sources);
  addTranslationMetrics(gauges, sources);
  addMemoryMetrics(gauges, sources);
  addWorkMetrics(gauges, sources);
  addTaskMetrics(registry, sources);
  addSyncMetrics(registry, sources);
  addDamageMetrics(registry, sources);
  return registry;
}

interface Gauges {
  /** Adds a gauge that has no sample while its value is `null`. */
  single(name: string, help: string, read: () => number | null): void;
  /** Adds a gauge with one label. */
  labelled(name: string, label: string, help: string, read: () => Readonly<Record<string, number>>): void;
}

function gaugesOf(registry: Registry): Gauges {
  const registers = [registry];
  return {
    single: (name, help, read) => {
      const gauge: Gauge = new Gauge({
        name: `slipway_daemon_${name}`,
        help,
        registers,
        collect: () => {
          const value = read();
          if (value === null) gauge.remove();
          else gauge.set(value);
        },
      });
    },
    labelled: (name, label, help, read) => {
      const gauge: Gauge<string> = new Gauge({
        name: `slipway_daemon_${name}`,
        help,
        labelNames: [label],
        registers,
        collect: () => {
          gauge.reset();
          for (const [value, count] of Object.entries(read())) gauge.set({ [label]: value }, count);
        },
      });
    },
  };
}

function addStateMetrics(gauges: Gauges, sources: DaemonMetricsSources): void {
  const { syncHistory, newestBackup, backupHistory, clock } = sources;
  gauges.single('sync_last_end_timestamp_seconds', 'When the last sync ended.', () => {
    return syncHistory().last?.finished_at ?? null;
  });
  gauges.single('sync_last_success_timestamp_seconds', 'When the last successful sync ended.', () => {
    return syncHistory().succeededAt;
  });
  gauges.single('sync_next_timestamp_seconds', 'When the next sync is planned.', sources.nextSyncAt);
  gauges.single('sync_consecutive_failures', 'Failed syncs since the last success.', () => {
    return syncHistory().consecutiveFailures;
  });
  const restarts = 'How often the supervisor started the daemon again since the container started.';
  gauges.single('restarts', restarts, () => sources.restarts);
  gauges.single('backup_last_success_timestamp_seconds', 'When the newest complete backup was made.', () => {
    return newestBackup()?.created_at ?? null;
  });
  gauges.single('backup_bytes', 'Size of the newest complete backup.', () => newestBackup()?.bytes ?? null);
  gauges.single('backup_consecutive_failures', 'Failed backups since the last success.', () => {
    return backupHistory().consecutiveFailures;
  });
  const checks = 'Status of each doctor check: 0 ok, 1 degraded, 2 failing.';
  gauges.labelled('check_status', 'check', checks, () =>
    Object.fromEntries(sources.checks().map(({ id, status }) => [id, severityOf(status)])),
  );
  const late = 'How late the schedule is that should have run first; 0 while none is late.';
  gauges.single('schedule_lateness_seconds', late, () => {
    const due = sources.nextDueAt();
    return due === null ? 0 : Math.max(0, clock.now() / 1000 - due);
  });
  const expiry = 'When the newest attestation expires; absent before the first one.';
  gauges.single(
    'attestation_expires_timestamp_seconds',
    expiry,
    () => sources.attested()?.expires_at ?? null,
  );
}

function addParseMetrics(gauges: Gauges, { indexStatus: status }: DaemonMetricsSources): void {
  gauges.single('parse_units', 'Text units of the indexed release.', () => status()?.units ?? null);
  gauges.labelled(
    'parse_containers',
    'status',
    'Containers of the indexed release, by parse status.',
    () => ({ ...zeros(PARSE_STATUSES), ...status()?.by_parse_status }),
  );
  gauges.labelled('parse_errors', 'code', 'Errors in the indexed release, by code.', () => ({
    ...zeros(Object.keys(PARSE_ERROR_CODES)),
    ...status()?.errors_by_code,
  }));
  const skipped = 'Skipped strings and files of the indexed release, by reason.';
  gauges.labelled('parse_skipped', 'reason', skipped, () => ({
    ...zeros(Object.keys(SKIP_REASONS)),
    ...status()?.skipped,
  }));
  const seconds = 'Time that parsing the indexed release took, in sum.';
  gauges.single('parse_seconds', seconds, () => status()?.seconds ?? null);
  const bytes = 'Size of the containers of the indexed release.';
  gauges.single('parse_bytes', bytes, () => status()?.bytes ?? null);
  const indexed = 'When the indexed release was completely indexed.';
  gauges.single('parse_last_success_timestamp_seconds', indexed, () => status()?.indexed_at ?? null);
}

/** The work on translations as the doctor last read it, every minute; without samples while it cannot be used. */
function addTranslationMetrics(gauges: Gauges, { translationStatus: status }: DaemonMetricsSources): void {
  gauges.labelled('translation_tasks', 'status', 'Translation tasks, by status.', () => {
    const found = status();
    return found === null ? {} : { ...zeros(TRANSLATION_STATUSES), ...found.tasks };
  });
  gauges.labelled('translation_units', 'state', 'Units of the translated release, by state.', () => {
    const found = status();
    if (found === null) return {};
    const { units, skippedUnits, excludedUnits } = found;
    return countsOf(UNIT_STATES, (state) => units[state] + skippedUnits[state] + excludedUnits[state]);
  });
  const leases = 'Chunks that workers have leased, by whether the lease is open or has expired.';
  gauges.labelled('translation_leases', 'state', leases, () => {
    const found = status();
    return found === null ? {} : countsOf(LEASE_STATES, (state) => found.leases[state]);
  });
  const failed = 'Chunks whose attempts are used up.';
  gauges.single('translation_failed_chunks', failed, () => status()?.failedChunks ?? null);
}

/** The Translation Memory and the Glossary as they were last read; without samples while their files cannot be used. */
function addMemoryMetrics(gauges: Gauges, { memoryCounts, glossarySummary }: DaemonMetricsSources): void {
  gauges.labelled('memory_records', 'state', 'Records of the Translation Memory, by state.', () => {
    const found = memoryCounts();
    return found === null ? {} : countsOf(MEMORY_STATES, (state) => found.counts[state]);
  });
  const conflicts = 'Texts with several trusted translations.';
  gauges.single('memory_conflicts', conflicts, () => memoryCounts()?.counts.conflict_groups ?? null);
  const available = 'Whether the Glossary can be used.';
  gauges.single('glossary_available', available, () => (glossarySummary() === null ? 0 : 1));
  const generation = 'Changes of the Glossary since it was created.';
  gauges.single('glossary_generation', generation, () => glossarySummary()?.generation ?? null);
  const terms = 'Terms of the Glossary, by review status.';
  gauges.labelled('glossary_terms', 'status', terms, () => glossarySummary()?.counts ?? {});
}

function addWorkMetrics(gauges: Gauges, sources: DaemonMetricsSources): void {
  const { clock, queues, storedBytes, releaseBytes } = sources;
  const lanes = TASK_LANES.filter((lane) => lane !== 'admin');
  gauges.labelled('task_queue_depth', 'lane', 'Tasks that wait, by lane.', () => {
    const waiting = queues();
    return countsOf(lanes, (lane) => waiting.find((queue) => queue.lane === lane)?.count ?? 0);
  });
  const age = 'For how long the oldest task that waits could have started, by lane; 0 for none.';
  gauges.labelled('task_queue_oldest_seconds', 'lane', age, () => {
    const waiting = queues();
    return countsOf(lanes, (lane) => {
      const oldest = waiting.find((queue) => queue.lane === lane)?.oldest_ms ?? clock.now();
      return Math.max(0, clock.now() - oldest) / 1000;
    });
  });
  let stored: Readonly<Record<string, number>> = {};
  let readAt = -Infinity;
  const size = 'Size of the objects in the store, by class: sound, or damaged and not usable.';
  gauges.labelled('store_bytes', 'class', size, () => {
    if (clock.monotonic() - readAt >= STORE_SIZE_MS) {
      stored = { ...storedBytes() };
      readAt = clock.monotonic();
    }
    return stored;
  });
  const current = 'Size of the current release of each channel; 0 for none. Releases share objects.';
  gauges.labelled('release_bytes', 'channel', current, () => countsOf(CHANNELS, releaseBytes));
}

function addTaskMetrics(registry: Registry, { taskKinds, onTaskFinished }: DaemonMetricsSources): void {
  const tasks = new Counter({
    name: 'slipway_daemon_tasks_total',
    help: 'Tasks that ended since the start of the daemon, by kind and outcome; a run of workers that left texts open is "partly".',
    labelNames: ['kind', 'outcome'],
    registers: [registry],
  });
  for (const kind of taskKinds()) {
    for (const outcome of ENDED_TASK_STATUSES) tasks.inc({ kind, outcome }, 0);
  }
  tasks.inc({ kind: WORKER_RUN_JOB.kind, outcome: 'partly' }, 0);
  onTaskFinished((task) => {
    tasks.inc({ kind: task.kind, outcome: endedAs(task) });
  });
}

function addSyncMetrics(registry: Registry, { onTaskFinished }: DaemonMetricsSources): void {
  const registers = [registry];
  const duration = new Histogram({
    name: 'slipway_daemon_sync_duration_seconds',
    help: 'Time of the last run of each sync that ended.',
    buckets: SYNC_BUCKETS,
    registers,
  });
  const bytes = new Counter({
    name: 'slipway_daemon_sync_downloaded_bytes_total',
    help: 'Bytes that successful syncs downloaded from upstream for releases.',
    registers,
  });
  const errors = new Counter({
    name: 'slipway_daemon_upstream_errors_total',
    help: 'Tasks that failed because of upstream, by code.',
    labelNames: ['code'],
    registers,
  });
  for (const code of UPSTREAM_ERROR_CODES) errors.inc({ code }, 0);
  const known: ReadonlySet<string | null> = new Set(UPSTREAM_ERROR_CODES);
  onTaskFinished((task) => {
    if (task.failure_code !== null && known.has(task.failure_code)) errors.inc({ code: task.failure_code });
    if (task.kind !== SYNC_JOB.kind) return;
    if (task.started_at !== null && task.finished_at !== null) {
      duration.observe(task.finished_at - task.started_at);
    }
    bytes.inc(downloadedBytes(task));
  });
}

function downloadedBytes({ result }: Task): number {
  const bytes = result?.['downloaded_bytes'];
  return typeof bytes === 'number' ? bytes : 0;
}

function addDamageMetrics(registry: Registry, { damage }: DaemonMetricsSources): void {
  const found: Counter<'found_by' | 'kind'> = new Counter({
    name: 'slipway_daemon_damage_total',
    help: 'Objects and manifests found damaged since the start of the daemon, by finder and kind: missing or damaged.',
    labelNames: ['found_by', 'kind'],
    registers: [registry],
    collect: () => {
      found.reset();
      for (const { finder, kind, count } of damage()) found.inc({ found_by: finder, kind }, count);
    },
  });
}

function countsOf<Name extends string>(
  names: readonly Name[],
  count: (name: Name) => number,
): Readonly<Record<string, number>> {
  return Object.fromEntries(names.map((name) => [name, count(name)]));
}

function zeros(names: readonly string[]): Readonly<Record<string, number>> {
  return countsOf(names, () => 0);
}
