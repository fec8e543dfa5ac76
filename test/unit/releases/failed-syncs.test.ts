import { partial } from '../../support/partial.ts';
import { mkdir, readdir, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RevisionRow } from '../../../src/releases/catalog/catalog-store.ts';
import { createUpstreamWaits } from '../../../src/releases/download/upstream-waits.ts';
import { SYNC_JOB } from '../../../src/releases/jobs/release-jobs.ts';
import { createStaging, KEPT_PARTS_BYTES, type Staging } from '../../../src/releases/sync/staging.ts';
import { syncStateOf } from '../../../src/releases/sync/sync-state.ts';
import { callOf } from '../../../src/engine/tasks/job.ts';
import type { TaskEngine } from '../../../src/engine/tasks/task-engine.ts';
import { TaskError } from '../../../src/engine/tasks/task.ts';
import { SMALL_FILE_BYTES } from '../../../src/upstream/http/small-file.ts';
import { UpstreamError } from '../../../src/upstream/upstream.ts';
import { noFailpoints } from '../../../src/platform/files/failpoints.ts';
import { stagingRoot } from '../../../src/snapshot/volume/layout.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { openWriterAt } from '../../support/open-writer.ts';
import { createWorld, type World } from '../../support/release-world.ts';
import { askReport } from '../../support/reports.ts';
import { createTestEngine, scriptedHandler, settle } from '../../support/task-engine.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const MIB = 1024 * 1024;

/** Files of a size that is received into a part, different in each release. */
function publishes(world: World, releaseId: string): void {
  world.upstream.releaseId = releaseId;
  world.upstream.files = new Map([['big', Buffer.alloc(SMALL_FILE_BYTES * 2, releaseId)]]);
}

async function staged(world: World): Promise<string[]> {
  return await readdir(stagingRoot(world.root));
}

interface Fixture {
  readonly staging: Staging;
  readonly engine: TaskEngine;
  readonly root: string;
  readonly write: (path: string, bytes: number, changedMs: number) => Promise<void>;
}

async function fixture(): Promise<Fixture> {
  const root = await temporaryDirectory();
  const writer = await openWriterAt({ root, failpoints: noFailpoints, clock: new FakeClock() });
  const { engine } = createTestEngine();
  return {
    root,
    engine,
    staging: createStaging({ writer, engine, reserveBytes: () => 0 }),
    write: async (path, bytes, changedMs) => {
      const file = join(stagingRoot(root), path);
      await mkdir(join(file, '..'), { recursive: true });
      await writeFile(file, '');
      // Sparse: only the size counts.
      await truncate(file, bytes);
      await utimes(file, changedMs / 1000, changedMs / 1000);
    },
  };
}

describe('what failed syncs leave', () => {
  describe('syncs that fail for good', () => {
    test('leave one folder, of the newest catalog, from which the next sync resumes on a volume with room for the rest', async () => {
      const world = await createWorld({ reserveBytes: 1000 });
      world.upstream.breaksAfter = SMALL_FILE_BYTES;
      for (let n = 1; n <= 12; n += 1) {
        publishes(world, `1.${n}`);
        expect(await world.act('sync')).toMatchObject({ failure_code: 'upstream_unreachable' });
      }
      await until(async () => (await staged(world)).length === 1);
      const [name = ''] = await staged(world);
      expect(await readdir(join(stagingRoot(world.root), name))).toHaveLength(2);

      world.upstream.breaksAfter = Infinity;
      world.upstream.starts.length = 0;
      world.script.freeBytes = SMALL_FILE_BYTES + 1000;
      expect(await world.act('sync')).toMatchObject({ status: 'succeeded' });
      expect(world.upstream.starts).toEqual([SMALL_FILE_BYTES]);
      expect(await staged(world)).toEqual([]);
    });

    test('leave nothing in the way of a sync of another catalog, also after a crash', async () => {
      const world = await createWorld();
      world.upstream.breaksAfter = SMALL_FILE_BYTES;
      publishes(world, '1.0');
      await world.act('sync');
      const [first = ''] = await staged(world);
      await world.restart();
      expect(await staged(world)).toEqual([first]);
      publishes(world, '2.0');
      const seen: string[][] = [];
      world.upstream.onOpen = () => {
        void staged(world).then((names) => seen.push(names));
      };
      await world.act('sync');
      await until(() => seen.length > 0);
      expect(seen[0]).toHaveLength(1);
      expect(seen[0]).not.toEqual([first]);
    });

    test('leave files of which only those that the next sync resumes count as room', async () => {
      const world = await createWorld({ reserveBytes: 1000 });
      world.upstream.breaksAfter = SMALL_FILE_BYTES;
      publishes(world, '1.0');
      await world.act('sync');
      const [name = ''] = await staged(world);
      await writeFile(join(stagingRoot(world.root), name, 'other.part'), Buffer.alloc(SMALL_FILE_BYTES));
      world.script.freeBytes = SMALL_FILE_BYTES + 999;
      expect(await world.act('sync')).toMatchObject({
        failure_code: 'no_space',
        result: { needed_bytes: SMALL_FILE_BYTES },
      });
    });

    test('leave nothing that takes the reserve of the volume', async () => {
      const world = await createWorld({ reserveBytes: 1000 });
      world.upstream.breaksAfter = SMALL_FILE_BYTES;
      publishes(world, '1.0');
      world.upstream.onOpen = () => {
        world.script.freeBytes = 999;
      };
      await world.act('sync');
      await until(async () => (await staged(world)).length === 0);
    });
  });

  test('what a task leaves that is cancelled before its next attempt is removed', async () => {
    const world = await createWorld();
    const waiting = scriptedHandler('waits', { lane: 'release' });
    world.engine.jobs.register(waiting);
    const submit = (): string => world.engine.submit({ kind: 'waits', args: {}, dedupe: false }).task.task_id;
    const running = submit();
    const queued = submit();
    await until(() => waiting.runs.length === 1);
    for (const id of [running, queued]) await mkdir(join(stagingRoot(world.root), id));
    world.engine.cancel(queued, null);
    await until(async () => (await staged(world)).length === 1);
    expect(await staged(world)).toEqual([running]);
    waiting.runs[0]?.succeed();
  });

  describe('a sweep', () => {
    test('keeps at most a gibibyte of the catalog that changed last, and removes its largest files first', async () => {
      const { staging, root, write } = await fixture();
      await write('sync-a/1.part', 10, 1000);
      await write('sync-b/1.part', KEPT_PARTS_BYTES - MIB, 2000);
      await write('sync-b/2.part', MIB, 3000);
      await write('sync-b/3.part', MIB, 2000);
      await write('01DEAD/x', 5, 4000);
      expect(await staging.sweep()).toBe(2);
      expect(await readdir(stagingRoot(root))).toEqual(['sync-b']);
      expect(await readdir(join(stagingRoot(root), 'sync-b'))).toEqual(['2.part', '3.part']);
      expect(await staging.sweep(0)).toBe(1);
      expect(await readdir(stagingRoot(root))).toEqual([]);
    });

    test('waits for a sync that opens its folder', async () => {
      const { staging, root, write } = await fixture();
      await write('sync-old/1.part', 10, 1000);
      const revision = { fingerprint: 'f'.repeat(64) } as RevisionRow;
      await write(`sync-${'f'.repeat(32)}/1.part`, 7, 1000);
      const [opened] = await Promise.all([staging.open(revision), staging.sweep()]);
      expect(opened.files).toMatchObject([{ name: '1.part', bytes: 7 }]);
      expect((await stat(opened.directory)).isDirectory()).toBe(true);
      expect(await readdir(stagingRoot(root))).toEqual([`sync-${'f'.repeat(32)}`]);
    });

    test('leaves the folders of a sync alone that waits or runs, however many tasks are newer', async () => {
      const { staging, engine, write } = await fixture();
      const syncs = scriptedHandler('sync', { lane: 'release' });
      engine.jobs.register(syncs, scriptedHandler('other', { lane: 'parse' }));
      await write('sync-a/1.part', 10, 1000);
      await write('sync-b/1.part', 10, 2000);
      const { task } = engine.submit({ kind: 'sync', args: {}, dedupe: false });
      for (let n = 0; n < 501; n += 1) engine.submit({ kind: 'other', args: {}, dedupe: false });
      expect(await staging.sweep()).toBe(0);
      engine.start();
      await until(() => syncs.runs.length === 1);
      expect(await staging.sweep()).toBe(0);
      syncs.runs[0]?.succeed();
      await until(() => engine.get(task.task_id)?.status === 'succeeded');
      expect(await staging.sweep()).toBe(1);
    });
  });
});

describe('the state of syncs', () => {
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
    expect(syncStateOf(engine.historyOf('sync'), null, now + 60)).toEqual({
      report: { last: null, next_at: now + 7, consecutive_failures: 0 },
      failingSince: null,
      retriedCode: 'upstream_unreachable',
      missedBytes: null,
      wait: null,
    });
    engine.cancel(task.task_id, 'not today');
    expect(syncStateOf(engine.historyOf('sync'), null, null).report).toMatchObject({
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
});

describe('the log of long waits', () => {
  test('long waits for upstream get a line, but none that begins during another one', async () => {
    const clock = new FakeClock(Date.UTC(2026, 0, 15, 12));
    const lines: unknown[] = [];
    const waits = createUpstreamWaits(clock);
    const note = waits.of(partial({ log: (...line) => lines.push(line) }));
    note('short', 4_999);
    note('first', 20_000);
    note('beside it', 30_000);
    await clock.advance(20_000);
    note('next', 60_000);
    expect(lines).toEqual([
      ['warn', 'upstream is asked again at 2026-01-15T12:00:20Z: first', { wait_ms: 20_000 }],
      ['warn', 'upstream is asked again at 2026-01-15T12:01:20Z: next', { wait_ms: 60_000 }],
    ]);
  });
});
