import { expect, test } from 'vitest';
import { SYNC_JOB } from '../../../../../src/daemon/releases/jobs/release-jobs.ts';
import { callOf } from '../../../../../src/daemon/tasks/job.ts';
import { UpstreamError } from '../../../../../src/daemon/upstream/upstream.ts';
import { askReport } from '../../../../support/reports.ts';
import { createTestEngine, scriptedHandler, settle } from '../../../../support/task-engine.ts';
import { TaskError } from '../../../../../src/daemon/tasks/task.ts';
import { syncStateOf } from '../../../../../src/daemon/releases/sync/sync-state.ts';
import { until } from '../../../../support/until.ts';
import { createWorld } from '../release-world.ts';

test('release.status says how the last sync ended, counts failures in a row, and names the next one', async () => {
  const world = await createWorld();
  const state = async () => (await askReport(world.releases.reports, 'release.status'))['sync'];
  expect(await state()).toEqual({ last: null, next_at: null, consecutive_failures: 0 });

  world.upstream.files.set('a', 'a');
  world.upstream.failure = new UpstreamError('upstream_unreachable', 'upstream refused the connection', {
    retryable: true,
  });
  const first = await world.act('sync');
  expect(await state()).toEqual({
    last: {
      task_id: first.task_id,
      status: 'failed',
      result: null,
      code: 'upstream_unreachable',
      message: 'upstream refused the connection',
      finished_at: first.finished_at,
    },
    // The retry of a first sync: half of ten seconds, without jitter.
    next_at: Math.ceil(world.clock.now() / 1000) + 5,
    consecutive_failures: 1,
  });

  await world.act('sync');
  await world.act('verify');
  world.script.plannedSyncAt = 1_500_000_000;
  expect(await state()).toMatchObject({ next_at: 1_500_000_000, consecutive_failures: 2 });

  world.upstream.failure = null;
  const changed = await world.act('sync');
  expect(await state()).toMatchObject({
    last: { task_id: changed.task_id, status: 'succeeded', result: 'changed', code: null, message: null },
    consecutive_failures: 0,
  });
  await world.act('sync');
  expect(await state()).toMatchObject({ last: { result: 'unchanged' }, next_at: 1_500_000_000 });
});

test('a first sync that cannot reach upstream is retried without end, with bounded waits, and says so', async () => {
  const world = await createWorld();
  world.upstream.files.set('a', 'a');
  world.upstream.failure = new UpstreamError('upstream_unreachable', `${world.upstream.label} refused`, {
    retryable: true,
  });
  const finished: string[] = [];
  world.engine.onFinished(({ kind, status }) => {
    if (kind === 'sync') finished.push(status);
  });
  const doctor = () => world.releases.diagnostics().find(({ id }) => id === 'sync');
  expect(doctor()).toMatchObject({ status: 'ok' });
  await world.act('refresh');
  const upstream = world.releases.diagnostics().find(({ id }) => id === 'upstream');
  expect(upstream?.message.split(world.upstream.label)).toHaveLength(2);
  expect(doctor()).toMatchObject({
    status: 'degraded',
    message: expect.stringMatching(/^the first sync does not get through: .*refused/) as string,
  });
  await world.act('sync');
  const waits: number[] = [];
  for (let round = 1; round <= 12; round += 1) {
    const { next_at: nextAt } = world.releases.syncState().report;
    const wait = Number(nextAt) * 1000 - world.clock.now();
    waits.push(Math.round(wait / 1000));
    await world.clock.advance(wait);
    await until(() => Promise.resolve(finished.length > round ? true : null));
  }
  expect(waits.slice(0, 4)).toEqual([5, 10, 20, 40]);
  expect(waits.at(-1)).toBe(150);
  expect(doctor()).toMatchObject({
    status: 'failing',
    message: expect.stringMatching(
      /^13 syncs in a row failed, .*refused \(upstream_unreachable\); the next one/,
    ) as string,
    since: expect.any(Number) as number,
  });

  world.upstream.failure = null;
  await world.clock.advance(150_000);
  await until(() =>
    Promise.resolve(world.releases.syncState().report.last?.status === 'succeeded' ? true : null),
  );
  expect(world.releases.syncState().report).toMatchObject({ next_at: null, consecutive_failures: 0 });
  expect(doctor()).toMatchObject({ status: 'ok' });

  // With a release, the schedule is enough.
  world.upstream.failure = new UpstreamError('upstream_timeout', 'slow', { retryable: true });
  await world.act('sync');
  expect(world.releases.syncState().report).toMatchObject({ next_at: null, consecutive_failures: 1 });
  expect(doctor()).toMatchObject({ status: 'degraded' });
});

test('the retry of a failed first sync survives a restart', async () => {
  const world = await createWorld();
  world.upstream.files.set('a', 'a');
  world.upstream.failure = new UpstreamError('upstream_unreachable', 'refused', { retryable: true });
  await world.act('sync');
  await world.restart();
  expect(world.releases.syncState().report).toMatchObject({
    next_at: Math.ceil(world.clock.now() / 1000) + 5,
    consecutive_failures: 1,
  });
  world.upstream.failure = null;
  await world.clock.advance(5000);
  await until(() =>
    Promise.resolve(world.releases.syncState().report.last?.status === 'succeeded' ? true : null),
  );
  expect(world.releases.syncState().report).toMatchObject({ next_at: null, consecutive_failures: 0 });

  // With a release, a restart plans nothing.
  world.upstream.failure = new UpstreamError('upstream_timeout', 'slow', { retryable: true });
  await world.act('sync');
  await world.restart();
  expect(world.releases.syncState().report).toMatchObject({ next_at: null, consecutive_failures: 1 });
});

test('a sync that waits for its next attempt is the next one; a cancelled one does not count as a failure', async () => {
  const { engine, clock } = createTestEngine();
  const sync = scriptedHandler('sync', { maxAttempts: 2 });
  engine.jobs.register(sync);
  engine.start();
  const { task } = engine.submit({ ...callOf(SYNC_JOB, {}), dedupe: true });
  await settle();
  sync.runs[0]?.fail(
    new TaskError('upstream_unreachable', 'refused', { retryable: true, retryAfterMs: 7000 }),
  );
  await settle();
  const now = Math.floor(clock.now() / 1000);
  expect(syncStateOf(engine.historyOf('sync'), now + 60)).toEqual({
    report: { last: null, next_at: now + 7, consecutive_failures: 0 },
    failingSince: null,
    retriedCode: 'upstream_unreachable',
    missedBytes: null,
  });
  engine.cancel(task.task_id, 'not today');
  expect(syncStateOf(engine.historyOf('sync'), null).report).toMatchObject({
    last: { status: 'cancelled', result: null, code: null, message: 'not today' },
    next_at: null,
    consecutive_failures: 0,
  });
});

test('a sync of a clock that was ahead is the last one only until another has ended', async () => {
  const { engine, clock } = createTestEngine();
  const sync = scriptedHandler('sync');
  engine.jobs.register(sync);
  engine.start();
  const runOnce = async (): Promise<string> => {
    const { task } = engine.submit({ ...callOf(SYNC_JOB, {}), dedupe: true });
    await settle();
    sync.runs[0]?.succeed({});
    await settle();
    expect(engine.get(task.task_id)?.status).toBe('succeeded');
    return task.task_id;
  };
  const ahead = await runOnce();
  clock.jumpTo(clock.now() - 3_600_000);
  expect(engine.historyOf('sync').last?.task_id).toBe(ahead);
  const next = await runOnce();
  expect(engine.historyOf('sync').last?.task_id).toBe(next);
});
