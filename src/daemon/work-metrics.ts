import { Counter, Gauge, Histogram } from 'prom-client';
import { ENDED_TASK_STATUSES, TASK_LANES } from '../contract/schemas/vocabulary.ts';
import { CHANNELS } from '../domain/release/channel.ts';
import type { Registry } from '../platform/metrics/metrics.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { ReleaseDamage } from '../releases/checks/release-damage.ts';
import type { Attestor } from '../releases/attest/attestor.ts';
import { SYNC_JOB } from '../releases/jobs/release-jobs.ts';
import type { ObjectRegistry } from '../releases/records/object-registry.ts';
import type { ReleaseRepository } from '../releases/records/release-repository.ts';
import type { Schedules } from '../engine/schedules/schedules.ts';
import type { TaskEngine } from '../engine/tasks/task-engine.ts';
import type { Task } from '../engine/tasks/task.ts';
import { UPSTREAM_ERROR_CODES } from '../upstream/upstream.ts';

/** Where the metrics of tasks, schedules and the store come from. */
export interface WorkMetricsSources {
  readonly engine: Pick<TaskEngine, 'onFinished' | 'queues' | 'jobs'>;
  readonly schedules: Pick<Schedules, 'nextDueAt'>;
  readonly releases: Pick<ReleaseRepository, 'current'>;
  readonly objects: Pick<ObjectRegistry, 'totalBytes'>;
  readonly attestor: Pick<Attestor, 'attested'>;
  readonly damage: Pick<ReleaseDamage, 'found'>;
  readonly clock: Clock;
}

/** Upper bounds of the duration of a sync, seconds: from nothing new to a whole release over a slow line. */
const SYNC_BUCKETS = [1, 5, 15, 60, 300, 900, 3600, 14_400];
/** Milliseconds for which the size of the store is remembered: finding it reads one row for each object. */
const STORE_SIZE_MS = 60_000;

/** Adds the metrics of tasks, syncs, schedules, the store and the attestation. Every known label has a sample from the start. */
export function addWorkMetrics(registry: Registry, sources: WorkMetricsSources): void {
  addTaskMetrics(registry, sources);
  addSyncMetrics(registry, sources);
  addQueueMetrics(registry, sources);
  addScheduleMetrics(registry, sources);
  addStoreMetrics(registry, sources);
  addDamageMetrics(registry, sources);
  addAttestationMetrics(registry, sources);
}

function addTaskMetrics(registry: Registry, { engine }: WorkMetricsSources): void {
  const tasks = new Counter({
    name: 'slipway_daemon_tasks_total',
    help: 'Tasks that ended since the start of the daemon, by kind and outcome.',
    labelNames: ['kind', 'outcome'],
    registers: [registry],
  });
  for (const kind of engine.jobs.kinds()) {
    for (const outcome of ENDED_TASK_STATUSES) tasks.inc({ kind, outcome }, 0);
  }
  engine.onFinished(({ kind, status }) => {
    tasks.inc({ kind, outcome: status });
  });
}

function addSyncMetrics(registry: Registry, { engine }: WorkMetricsSources): void {
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
  engine.onFinished((task) => {
    if (task.failure_code !== null && known.has(task.failure_code)) errors.inc({ code: task.failure_code });
    if (task.kind !== SYNC_JOB.kind) return;
    if (task.started_at !== null && task.finished_at !== null) {
      duration.observe(task.finished_at - task.started_at);
    }
    bytes.inc(downloadedBytes(task));
  });
}

function downloadedBytes({ result }: Pick<Task, 'result'>): number {
  const bytes = result?.['downloaded_bytes'];
  return typeof bytes === 'number' ? bytes : 0;
}

function addQueueMetrics(registry: Registry, { engine, clock }: WorkMetricsSources): void {
  const registers = [registry];
  const lanes = TASK_LANES.filter((lane) => lane !== 'admin');
  const depth: Gauge<'lane'> = new Gauge({
    name: 'slipway_daemon_task_queue_depth',
    help: 'Tasks that wait, by lane.',
    labelNames: ['lane'],
    registers,
    collect: () => {
      const queues = new Map(engine.queues().map((queue) => [queue.lane, queue]));
      for (const lane of lanes) {
        const queue = queues.get(lane);
        const oldestMs = queue === undefined ? 0 : Math.max(0, clock.now() - queue.oldest_ms);
        depth.set({ lane }, queue?.count ?? 0);
        age.set({ lane }, oldestMs / 1000);
      }
    },
  });
  const age: Gauge<'lane'> = new Gauge({
    name: 'slipway_daemon_task_queue_oldest_seconds',
    help: 'For how long the oldest task that waits could have started, by lane; 0 for none.',
    labelNames: ['lane'],
    registers,
  });
}

function addScheduleMetrics(registry: Registry, { schedules, clock }: WorkMetricsSources): void {
  const lateness: Gauge = new Gauge({
    name: 'slipway_daemon_schedule_lateness_seconds',
    help: 'How late the schedule is that should have run first; 0 while none is late.',
    registers: [registry],
    collect: () => {
      const due = schedules.nextDueAt();
      lateness.set(due === null ? 0 : Math.max(0, clock.now() / 1000 - due));
    },
  });
}

function addStoreMetrics(registry: Registry, { objects, releases, clock }: WorkMetricsSources): void {
  const registers = [registry];
  let known = { sound: 0, damaged: 0 };
  let readAt = -Infinity;
  const totalBytes = (): typeof known => {
    if (clock.monotonic() - readAt >= STORE_SIZE_MS) {
      known = { ...objects.totalBytes() };
      readAt = clock.monotonic();
    }
    return known;
  };
  const stored: Gauge<'class'> = new Gauge({
    name: 'slipway_daemon_store_bytes',
    help: 'Size of the objects in the store, by class: sound, or damaged and not usable.',
    labelNames: ['class'],
    registers,
    collect: () => {
      for (const [name, bytes] of Object.entries(totalBytes())) stored.set({ class: name }, bytes);
    },
  });
  const current: Gauge<'channel'> = new Gauge({
    name: 'slipway_daemon_release_bytes',
    help: 'Size of the current release of each channel; 0 for none. Releases share objects.',
    labelNames: ['channel'],
    registers,
    collect: () => {
      for (const channel of CHANNELS) current.set({ channel }, releases.current(channel)?.total_bytes ?? 0);
    },
  });
}

function addDamageMetrics(registry: Registry, { damage }: WorkMetricsSources): void {
  const found: Counter<'found_by' | 'kind'> = new Counter({
    name: 'slipway_daemon_damage_total',
    help: 'Objects and manifests found damaged since the start of the daemon, by finder and kind: missing or damaged.',
    labelNames: ['found_by', 'kind'],
    registers: [registry],
    collect: () => {
      found.reset();
      for (const { finder, kind, count } of damage.found()) found.inc({ found_by: finder, kind }, count);
    },
  });
}

function addAttestationMetrics(registry: Registry, { attestor }: WorkMetricsSources): void {
  const expires: Gauge = new Gauge({
    name: 'slipway_daemon_attestation_expires_timestamp_seconds',
    help: 'When the newest attestation expires; absent before the first one.',
    registers: [registry],
    collect: () => {
      const statement = attestor.attested();
      if (statement === null) expires.remove();
      else expires.set(statement.expires_at);
    },
  });
}
