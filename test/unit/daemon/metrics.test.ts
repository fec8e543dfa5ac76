import { describe, expect, it } from 'vitest';
import { PARSE_ERROR_CODES } from '../../../src/contract/reports/parse-error-codes.ts';
import { PARSE_STATUSES, TRANSLATION_STATUSES } from '../../../src/contract/schemas/vocabulary.ts';
import type { CompleteBackup } from '../../../src/daemon/backup/backup-list.ts';
import type { GlossarySummary } from '../../../src/localization/glossary/glossary-worker.ts';
import { sampleStatement } from '../../support/attestations.ts';
import { DAMAGE_KINDS } from '../../../src/domain/verdict/damage-kind.ts';
import { RELEASE_JOBS } from '../../../src/releases/jobs/release-jobs.ts';
import { DAMAGE_FINDERS } from '../../../src/releases/records/damage-records.ts';
import type { Task } from '../../../src/engine/tasks/task.ts';
import type { KindHistory } from '../../../src/engine/tasks/task-reads.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { createDaemonMetrics, type DaemonMetricsSources } from '../../../src/daemon/metrics.ts';
import { noUnits, UNIT_STATES } from '../../../src/domain/translation/unit-state.ts';
import type { WorkStatus } from '../../../src/localization/translation/work/read/work-status.ts';
import { SKIP_REASONS } from '../../../src/localization/parse/container/parsed-container.ts';
import type { IndexStatus } from '../../../src/localization/parse/index/index-status.ts';

const INDEXED: IndexStatus = {
  release_id: 'r1',
  generation: 1,
  indexed_at: 1_700_000_000,
  containers: 12,
  by_parse_status: { parsed: 11, failed: 1 },
  by_format: { json: 12 },
  units: 40_213,
  errors: 3,
  warnings: 0,
  errors_by_code: { json_invalid: 3 },
  skipped: { no_source_script: 1021 },
  seconds: 3.25,
  bytes: 48_120_332,
  parser_version: '1',
  rules_digest: null,
  carry_over: null,
};

/** Options of a daemon that has done nothing yet. */
const NO_RUNS: KindHistory = {
  last: null,
  consecutiveFailures: 0,
  failingSince: null,
  succeededAt: null,
  nextRunAt: null,
  retriedCode: null,
};
const NOTHING_YET: DaemonMetricsSources = {
  version: '1.2.3',
  clock: new FakeClock(),
  restarts: 0,
  checks: () => [],
  syncHistory: () => NO_RUNS,
  nextSyncAt: () => null,
  newestBackup: () => null,
  backupHistory: () => NO_RUNS,
  indexStatus: () => null,
  translationStatus: () => null,
  memoryCounts: () => null,
  glossarySummary: () => null,
  taskKinds: () => [],
  onTaskFinished: () => undefined,
  queues: () => [],
  nextDueAt: () => null,
  storedBytes: () => ({ sound: 0, damaged: 0 }),
  releaseBytes: () => 0,
  damage: () => [],
  attested: () => null,
};

/** The samples of the parse index at each collection. */
function collector(glossary: GlossarySummary | null = null, prefix = 'slipway_daemon_parse_') {
  let status: IndexStatus | null = null;
  const registry = createDaemonMetrics({
    ...NOTHING_YET,
    glossarySummary: () => glossary,
    indexStatus: () => status,
  });
  return async (next: IndexStatus | null): Promise<string[]> => {
    status = next;
    return (await registry.metrics()).split('\n').filter((line) => line.startsWith(prefix));
  };
}

describe('the metrics of the parse index', () => {
  it('have every label of the contract at 0 before the first release is indexed', async () => {
    const labels = [
      ...PARSE_STATUSES.map((status) => `slipway_daemon_parse_containers{status="${status}"} 0`),
      ...Object.keys(PARSE_ERROR_CODES).map((code) => `slipway_daemon_parse_errors{code="${code}"} 0`),
      ...Object.keys(SKIP_REASONS).map((reason) => `slipway_daemon_parse_skipped{reason="${reason}"} 0`),
    ];
    expect(new Set(await collector()(null))).toEqual(new Set(labels));
  });

  it('show the index that reports show', async () => {
    const lines = await collector()(INDEXED);
    expect(lines).toEqual(
      expect.arrayContaining([
        'slipway_daemon_parse_units 40213',
        'slipway_daemon_parse_bytes 48120332',
        'slipway_daemon_parse_seconds 3.25',
        'slipway_daemon_parse_last_success_timestamp_seconds 1700000000',
        'slipway_daemon_parse_containers{status="parsed"} 11',
        'slipway_daemon_parse_containers{status="failed"} 1',
        'slipway_daemon_parse_errors{code="json_invalid"} 3',
        'slipway_daemon_parse_errors{code="zip_invalid"} 0',
        'slipway_daemon_parse_skipped{reason="no_source_script"} 1021',
      ]),
    );
  });

  it('return to 0 when the next release has no such error', async () => {
    const collect = collector();
    await collect(INDEXED);
    const lines = await collect({ ...INDEXED, errors: 0, errors_by_code: {}, skipped: {} });
    expect(lines).toContain('slipway_daemon_parse_errors{code="json_invalid"} 0');
    expect(lines).toContain('slipway_daemon_parse_skipped{reason="no_source_script"} 0');
  });

  it('have no time before the first release is indexed', async () => {
    const lines = await collector()({ ...INDEXED, indexed_at: null, release_id: null });
    expect(lines.join('\n')).not.toContain('last_success');
  });
});

it('the metrics of backups show the newest complete one, and nothing before it is known', async () => {
  let latest: CompleteBackup | null = null;
  const registry = createDaemonMetrics({
    ...NOTHING_YET,
    newestBackup: () => latest,
    backupHistory: () => ({ ...NO_RUNS, consecutiveFailures: 2 }),
  });
  const lines = async (): Promise<string[]> =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith('slipway_daemon_backup_'));
  expect(await lines()).toEqual(['slipway_daemon_backup_consecutive_failures 2']);
  latest = { name: 'backup-a', created_at: 1_700_000_000, bytes: 4096 };
  expect(await lines()).toEqual([
    'slipway_daemon_backup_last_success_timestamp_seconds 1700000000',
    'slipway_daemon_backup_bytes 4096',
    'slipway_daemon_backup_consecutive_failures 2',
  ]);
});

describe('the metrics of the Glossary', () => {
  it('say whether it can be used, and count its terms', async () => {
    const summary = { counts: { approved: 320, draft: 4 }, generation: 512, pairs: [] };
    expect(await collector(summary, 'slipway_daemon_glossary_')(null)).toEqual([
      'slipway_daemon_glossary_available 1',
      'slipway_daemon_glossary_generation 512',
      'slipway_daemon_glossary_terms{status="approved"} 320',
      'slipway_daemon_glossary_terms{status="draft"} 4',
    ]);
    expect(await collector(null, 'slipway_daemon_glossary_')(null)).toEqual([
      'slipway_daemon_glossary_available 0',
    ]);
  });
});

describe('the metrics of translations', () => {
  const lines = async (status: WorkStatus | null): Promise<string[]> => {
    const registry = createDaemonMetrics({ ...NOTHING_YET, translationStatus: () => status });
    return (await registry.metrics())
      .split('\n')
      .filter((line) => line.startsWith('slipway_daemon_translation_'));
  };

  it('have every status and state, and the counts as they were last read', async () => {
    const found = await lines({
      schemaVersion: 1,
      targetLanguage: 'zh-Hans',
      tasks: { blocked: 3 },
      built: null,
      units: { ...noUnits(), draft: 5 },
      skippedUnits: { ...noUnits(), draft: 2 },
      excludedUnits: noUnits(),
      blockedUnits: { draft: 0, translated: 0, proofread: 0 },
      heldUnits: noUnits(),
      leases: { open: 4, expired: 1 },
      failedChunks: 6,
    });
    expect(found).toHaveLength(TRANSLATION_STATUSES.length + UNIT_STATES.length + 3);
    expect(found).toEqual(
      expect.arrayContaining([
        'slipway_daemon_translation_tasks{status="blocked"} 3',
        'slipway_daemon_translation_tasks{status="pending"} 0',
        'slipway_daemon_translation_units{state="draft"} 7',
        'slipway_daemon_translation_units{state="stale"} 0',
        'slipway_daemon_translation_leases{state="open"} 4',
        'slipway_daemon_translation_leases{state="expired"} 1',
        'slipway_daemon_translation_failed_chunks 6',
      ]),
    );
  });

  it('have no samples while translation.db cannot be used', async () => {
    expect(await lines(null)).toEqual([]);
  });
});

describe('the metrics of work', () => {
  const task = (changes: Partial<Task>): Task =>
    ({
      kind: 'sync',
      status: 'succeeded',
      failure_code: null,
      result: null,
      started_at: 10,
      finished_at: 70,
      ...changes,
    }) as Task;

  it('start at 0, and count ended tasks, failures of upstream, and the time and bytes of syncs', async () => {
    const listeners: Array<(ended: Task) => void> = [];
    const onFinished = (ended: Task): void => {
      for (const listener of listeners) listener(ended);
    };
    const registry = createDaemonMetrics({
      ...NOTHING_YET,
      taskKinds: () => RELEASE_JOBS.map(({ kind }) => kind),
      onTaskFinished: (listener) => {
        listeners.push(listener);
      },
    });
    const text = await registry.metrics();
    for (const { kind } of RELEASE_JOBS) {
      expect(text).toContain(`slipway_daemon_tasks_total{kind="${kind}",outcome="failed"} 0`);
    }
    expect(text).toContain('slipway_daemon_upstream_errors_total{code="upstream_unreachable"} 0');
    expect(text).toContain('slipway_daemon_task_queue_depth{lane="release"} 0');
    expect(text).toContain('slipway_daemon_store_bytes{class="damaged"} 0');
    expect(text).not.toMatch(/^slipway_daemon_attestation_expires_timestamp_seconds /m);
    onFinished(task({ status: 'failed', failure_code: 'upstream_timeout' }));
    onFinished(task({ result: { downloaded_bytes: 42 } }));
    expect(text).toContain('slipway_daemon_tasks_total{kind="worker-run",outcome="partly"} 0');
    onFinished(task({ kind: 'worker-run', result: { outcome: 'partly' } }));
    const lines = (await registry.metrics()).split('\n');
    expect(lines).toContain('slipway_daemon_upstream_errors_total{code="upstream_timeout"} 1');
    expect(lines).toContain('slipway_daemon_tasks_total{kind="sync",outcome="succeeded"} 1');
    expect(lines).toContain('slipway_daemon_tasks_total{kind="worker-run",outcome="partly"} 1');
    expect(lines).toContain('slipway_daemon_sync_downloaded_bytes_total 42');
    expect(lines).toContain('slipway_daemon_sync_duration_seconds_sum 120');
  });

  it('count the damage of every finder from 0', async () => {
    let found = 0;
    const registry = createDaemonMetrics({
      ...NOTHING_YET,
      damage: () =>
        DAMAGE_FINDERS.flatMap((finder) =>
          DAMAGE_KINDS.map((kind) => ({
            finder,
            kind,
            count: finder === 'verify' && kind === 'damaged' ? found : 0,
          })),
        ),
    });
    const lines = async (): Promise<readonly string[]> =>
      (await registry.metrics())
        .split('\n')
        .filter((line) => line.startsWith('slipway_daemon_damage_total{'));
    expect(await lines()).toHaveLength(DAMAGE_FINDERS.length * 2);
    expect(await lines()).toContain('slipway_daemon_damage_total{found_by="verify",kind="damaged"} 0');
    found = 2;
    expect(await lines()).toContain('slipway_daemon_damage_total{found_by="verify",kind="damaged"} 2');
    expect(await lines()).toContain('slipway_daemon_damage_total{found_by="verify",kind="missing"} 0');
  });

  it('tell how long work waits, how late schedules are, and when the attestation expires', async () => {
    const clock = new FakeClock();
    const nowSeconds = clock.now() / 1000;
    const registry = createDaemonMetrics({
      ...NOTHING_YET,
      clock,
      queues: () => [{ lane: 'verify', count: 3, oldest_ms: clock.now() - 5000 }],
      nextDueAt: () => nowSeconds - 30,
      storedBytes: () => ({ sound: 7, damaged: 1 }),
      attested: () => sampleStatement({ expires_at: 123 }),
    });
    const text = await registry.metrics();
    for (const line of [
      'slipway_daemon_task_queue_depth{lane="verify"} 3',
      'slipway_daemon_task_queue_oldest_seconds{lane="verify"} 5',
      'slipway_daemon_task_queue_oldest_seconds{lane="release"} 0',
      'slipway_daemon_schedule_lateness_seconds 30',
      'slipway_daemon_store_bytes{class="sound"} 7',
      'slipway_daemon_attestation_expires_timestamp_seconds 123',
    ])
      expect(text.split('\n')).toContain(line);
  });
});
