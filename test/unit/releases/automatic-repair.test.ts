import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { DAMAGE_REPAIR_JOB } from '../../../src/releases/jobs/release-jobs.ts';
import { createRepairAttempts } from '../../../src/releases/records/repair-attempts.ts';
import { callOf } from '../../../src/engine/tasks/job.ts';
import type { Task } from '../../../src/engine/tasks/task.ts';
import { UpstreamError } from '../../../src/upstream/upstream.ts';
import { SINGLE_BLOCK_MAX_BYTES } from '../../../src/domain/release/blocks.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { blockListPath } from '../../../src/snapshot/volume/layout.ts';
import { until } from '../../support/until.ts';
import { createSyncedWorld, createWorld, ended, type World } from '../../support/release-world.ts';

const synced = async (automaticRepair = true): Promise<World> =>
  await createSyncedWorld({ a: 'one', b: 'two', c: 'one' }, { automaticRepair });

function reported(world: World, content: string): void {
  world.releases.reportDamage([
    {
      blake3: blake3Hex(Buffer.from(content)),
      destination: 'a',
      kind: 'damaged',
      message: 'found by a test',
    },
  ]);
}

/** The automatic repairs that have ended, the newest first. */
function repairs(world: World): readonly Task[] {
  return world.engine
    .list(100)
    .filter(({ kind, finished_at: at }) => kind === 'damage-repair' && at !== null);
}

/** Whether a repair waits or runs. Time that passes meanwhile counts for the next wait, too. */
const isRepairing = (world: World): boolean =>
  world.engine.list(100).some(({ kind, finished_at: at }) => kind === 'damage-repair' && at === null);

const isPassed = (world: World): boolean =>
  world.row('1.0') === 'current' && world.attested().official?.result === 'PASSED';

function upstreamIsDown(world: World): void {
  world.upstream.onOpen = () => {
    throw new UpstreamError('upstream_unreachable', 'connection refused', { retryable: true });
  };
}

test('damage that a server reports is repaired without a request, and only that object is fetched', async () => {
  const world = await synced();
  const { version } = world.attested();
  await world.damage('one', 'ONE');
  reported(world, 'one');
  await until(() => world.attested().version > version && isPassed(world));
  expect(world.upstream.opened).toEqual(['a']);
  await until(() => repairs(world).length === 1);
  expect(repairs(world)).toMatchObject([
    { status: 'succeeded', result: { repaired_objects: 1, repaired_manifests: 0 } },
  ]);
  expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });
});

test('damage that verify finds is repaired, also of the server-info document', async () => {
  const world = await synced();
  await world.damage('two', null);
  await world.damage(world.upstream.serverInfo!, 'x'.repeat(world.upstream.serverInfo!.length));
  expect((await world.act('verify')).failure_code).toBe('damage_found');
  await until(() => isPassed(world));
  expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });
});

test('a lost block list is made again from the intact object while upstream is down', async () => {
  const world = await createWorld({ automaticRepair: true });
  const large = Buffer.alloc(SINGLE_BLOCK_MAX_BYTES + 1, 3);
  world.upstream.files = new Map([['large', large]]);
  expect((await world.act('sync')).status).toBe('succeeded');
  world.upstream.opened.length = 0;
  upstreamIsDown(world);
  await rm(blockListPath(world.root, blake3Hex(large)));
  expect((await world.act('verify')).failure_code).toBe('damage_found');
  await until(() => isPassed(world));
  expect(world.upstream.opened).toEqual([]);
  expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });
});

test('with the switch off, damage waits for the repair action', async () => {
  const world = await synced(false);
  await world.damage('two', 'TWO');
  await world.act('verify');
  await world.clock.advance(3_600_000);
  expect(repairs(world)).toEqual([]);
  expect(world.row('1.0')).toBe('damaged');
});

test('a repair that fails says why and when the next one runs, waits longer each time, and attests nothing', async () => {
  const world = await synced();
  upstreamIsDown(world);
  await world.damage('two', null);
  reported(world, 'two');
  await until(() => repairs(world).length === 1);
  const { version } = world.attested();
  expect(repairs(world)[0]).toMatchObject({
    status: 'failed',
    failure_code: 'repair_incomplete',
    failure_reason: expect.stringMatching(/connection refused; the next attempt is at \d{4}-/) as unknown,
    result: { unrecoverable: [{ release_id: '1.0', destination: 'b' }] },
  });
  expect(world.releases.diagnostics().find(({ id }) => id === 'verification')).toMatchObject({
    status: 'failing',
    message: expect.stringMatching(
      /The last repair of \S+ failed at .*connection refused; the next one is at /,
    ) as unknown,
  });
  const attempt = world.database.prepare('SELECT tried_at, next_at_ms FROM repair_attempt');
  const waits: number[] = [];
  for (let count = 1; count <= 6; count += 1) {
    await until(async () => {
      await world.clock.advance(count === 1 ? 0 : 500);
      return repairs(world).length === count;
    });
    const row = attempt.get();
    waits.push((Number(row?.['next_at_ms']) - Number(row?.['tried_at']) * 1000) / 1000);
  }
  expect(waits.map(Math.floor)).toEqual([1, 2, 4, 8, 16, 32]);
  expect(world.attested().version).toBe(version);
  expect(world.row('1.0')).toBe('damaged');

  world.upstream.onOpen = () => undefined;
  await until(async () => {
    await world.clock.advance(5000);
    return isPassed(world);
  });
});

test('a failed repair is not the cause of damage that was found after something else had mended the file', async () => {
  const world = await synced();
  const told = (): string | undefined =>
    world.releases.diagnostics().find(({ id }) => id === 'verification')?.message;
  upstreamIsDown(world);
  await world.damage('two', null);
  reported(world, 'two');
  await until(async () => {
    await world.clock.advance(0);
    return repairs(world).length === 1;
  });
  expect(told()).toContain('connection refused');
  world.upstream.onOpen = () => undefined;
  await world.clock.advance(500);
  expect((await world.act('repair')).status).toBe('succeeded');
  await until(() => isPassed(world));
  world.clock.jumpAhead(500);
  upstreamIsDown(world);
  await world.damage('two', null);
  const known = repairs(world).length;
  expect((await world.act('verify', { force: true })).failure_code).toBe('damage_found');
  expect(repairs(world)).toHaveLength(known);
  expect(told()).not.toContain('connection refused');
});

test('the waits of failed repairs continue after a restart', async () => {
  const world = await synced();
  upstreamIsDown(world);
  await world.damage('two', null);
  reported(world, 'two');
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    await until(async () => {
      await world.clock.advance(attempt === 1 ? 0 : 1000);
      return repairs(world).length === attempt;
    });
  }
  await world.restart();
  await world.clock.advance(1000);
  expect(repairs(world)).toHaveLength(5);
  world.upstream.onOpen = () => undefined;
  await until(async () => {
    await world.clock.advance(5000);
    // The release is attested before its task has ended.
    return isPassed(world) && repairs(world).length > 5;
  });
  expect(repairs(world)).toHaveLength(6);
});

test('an object that is damaged repeatedly is repaired with growing waits', async () => {
  const world = await synced();
  for (let round = 1; round <= 3; round += 1) {
    await world.damage('two', 'twO');
    reported(world, 'two');
    await until(() => world.row('1.0') === 'damaged' || repairs(world).length === round);
    if (round > 1) {
      expect(repairs(world)).toHaveLength(round - 1);
      expect(world.releases.diagnostics().find(({ id }) => id === 'verification')?.message).toMatch(
        /It was repaired before and is damaged again; the next repair is at 2\d{3}-.*Z\.$/,
      );
    }
    await until(async () => {
      if (!isRepairing(world) && !isPassed(world)) await world.clock.advance(250);
      return repairs(world).length === round && isPassed(world);
    });
  }
});

test('new damage is repaired while another object waits for its next attempt', async () => {
  const world = await synced();
  world.upstream.onOpen = (name) => {
    if (name === 'b') throw new UpstreamError('upstream_not_found', 'gone', { retryable: false });
  };
  await world.damage('two', null);
  reported(world, 'two');
  await until(() => repairs(world).length === 1);
  await world.damage('one', 'ONE');
  reported(world, 'one');
  await until(() => repairs(world).length === 2);
  expect(
    world.releases.repository.damageOf('official', '1.0', 10).map(({ destination }) => destination),
  ).toEqual(['b']);
});

/** A release whose objects are all lost; the automatic repair has run once. */
async function withLostObjects(count: number, onOpen: (name: string) => void): Promise<World> {
  const world = await createWorld({ automaticRepair: true });
  world.upstream.files = new Map(
    Array.from({ length: count }, (_, index) => [`file-${index}`, `content ${index}`]),
  );
  await world.act('sync');
  await rm(join(world.root, 'objects'), { recursive: true });
  world.upstream.opened.length = 0;
  world.upstream.onOpen = onOpen;
  reported(world, 'content 0');
  await until(() => repairs(world).length === 1);
  return world;
}

const unreachable = (): never => {
  throw new UpstreamError('upstream_unreachable', 'connection refused', { retryable: true });
};

test('objects that were not requested while upstream failed get no attempt and are repaired when it is back', async () => {
  const world = await withLostObjects(40, unreachable);
  const objects = `FROM repair_attempt WHERE length(subject) = 64`;
  const requested = world.upstream.opened.length;
  expect(requested).toBeLessThan(10);
  expect(Number(world.database.prepare(`SELECT count(*) AS n ${objects}`).get()?.['n'])).toBeLessThan(10);
  expect(repairs(world)[0]).toMatchObject({
    failure_code: 'repair_incomplete',
    failure_reason: expect.stringMatching(
      /upstream failed several times, so no more were requested; the next attempt is at 20/,
    ) as unknown,
    result: { unrecoverable_count: requested },
  });

  // Only upstream as a whole delays them.
  await world.clock.advance(900);
  expect(repairs(world)).toHaveLength(1);
  world.upstream.onOpen = () => undefined;
  await world.clock.advance(100);
  await until(() => repairs(world).length === 2);
  expect(repairs(world)[0]?.status).toBe('succeeded');
  await until(() => isPassed(world));
  expect(
    world.database.prepare(`SELECT subject FROM repair_attempt WHERE subject = 'upstream'`).all(),
  ).toEqual([]);
});

test('a damaged server-info document is repaired from the database while upstream is down, and objects when it is back', async () => {
  const world = await createWorld({ automaticRepair: true });
  const contents = Array.from({ length: 10 }, (_, index) => `content ${index}`);
  world.upstream.files = new Map(contents.map((content, index) => [`file-${index}`, content]));
  await world.act('sync');
  upstreamIsDown(world);
  for (const content of contents) await world.damage(content, null);
  reported(world, 'content 0');
  await until(() => repairs(world).length === 1);
  const isUpstreamDelayed = (): boolean =>
    world.database.prepare(`SELECT 1 FROM repair_attempt WHERE subject = 'upstream'`).get() !== undefined;
  expect(isUpstreamDelayed()).toBe(true);

  const requested = world.upstream.opened.length;
  const document = String(world.upstream.serverInfo);
  await world.damage(document, 'x'.repeat(document.length));
  reported(world, document);
  await until(() => repairs(world).length === 2);
  expect(repairs(world)[0]).toMatchObject({ status: 'succeeded', result: { repaired_objects: 1 } });
  expect(world.releases.repository.isDamaged(blake3Hex(Buffer.from(document)))).toBe(false);
  expect([world.upstream.opened.length, isUpstreamDelayed()]).toEqual([requested, true]);

  world.upstream.onOpen = () => undefined;
  await until(async () => {
    await world.clock.advance(1000);
    return isPassed(world);
  });
  expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });
});

test('the wait for upstream grows with each attempt, at most to a minute', async () => {
  const world = await withLostObjects(60, unreachable);
  const upstream = world.database.prepare(
    `SELECT attempts, next_at_ms - :now AS wait FROM repair_attempt WHERE subject = 'upstream'`,
  );
  const waits: number[] = [];
  for (let count = 1; count <= 7; count += 1) {
    await until(() => repairs(world).length === count);
    const wait = Number(upstream.get({ now: world.clock.now() })?.['wait']);
    waits.push(wait);
    await world.clock.advance(wait);
  }
  expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
});

test('the attempts of a round are one transaction', async () => {
  const sizes: number[] = [];
  const world = await createWorld({ automaticRepair: false });
  world.upstream.files = new Map(
    Array.from({ length: 120 }, (_, index) => [`file-${index}`, `content ${index}`]),
  );
  await world.act('sync');
  const rows = world.database.prepare('SELECT count(*) AS n FROM repair_attempt');
  const size = (): number => Number(rows.get()?.['n']);
  const real = world.database.transaction.bind(world.database);
  vi.spyOn(world.database, 'transaction').mockImplementation((section) =>
    real(() => {
      const before = size();
      const result = section();
      if (size() !== before) sizes.push(size() - before);
      return result;
    }),
  );
  await rm(join(world.root, 'objects'), { recursive: true });
  await world.act('verify');
  world.upstream.onOpen = () => {
    throw new UpstreamError('upstream_not_found', 'gone', { retryable: false });
  };
  const { task_id: taskId } = world.engine.submit({ ...callOf(DAMAGE_REPAIR_JOB, {}), dedupe: true }).task;
  const task = await ended(world.engine, taskId);
  // The document of the server has its own origin.
  expect(sizes).toEqual([121]);
  const result = task.result as { readonly unrecoverable: readonly unknown[] };
  expect(result).toMatchObject({ unrecoverable_count: 120 });
  expect(result.unrecoverable).toHaveLength(100);
});

test('one lost object leads to all that were lost with it, of every release', async () => {
  const world = await synced();
  world.upstream.releaseId = '2.0';
  world.upstream.files = new Map([...world.upstream.files, ['d', 'new']]);
  await world.act('sync');
  await rm(join(world.root, 'objects'), { recursive: true });
  reported(world, 'two');
  await until(() => world.attested().official?.result === 'FAILED');
  await until(() => world.attested().official?.result === 'PASSED' && world.attested().retained.length === 1);
  expect((await world.act('verify', { force: true })).result).toMatchObject({ damaged: 0 });
});

test('a lost folder of manifests is repaired, and the release keeps its snapshot id', async () => {
  const world = await synced();
  const before = world.attested().official;
  await rm(join(world.root, 'manifests'), { recursive: true });
  expect((await world.act('verify')).failure_code).toBe('damage_found');
  await until(() => isPassed(world));
  expect(world.attested().official?.snapshot_id).toBe(before?.snapshot_id);
  expect(world.upstream.opened).toEqual([]);
  expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });
});

test('only the releases that hold the damaged object are withdrawn', async () => {
  const world = await synced(false);
  world.upstream.releaseId = '2.0';
  world.upstream.files = new Map([...world.upstream.files, ['d', 'new']]);
  await world.act('sync');
  await world.damage('new', 'NEW');
  reported(world, 'new');
  await until(() => world.attested().official?.result === 'FAILED');
  expect(world.attested().retained).toMatchObject([{ release_id: '1.0', result: 'PASSED' }]);
  expect(world.row('1.0')).toBe('superseded');
});

test('missing and wrong bytes are each named by their kind', async () => {
  const world = await synced(false);
  await world.damage('one', null);
  await world.damage('two', 'TWO');
  expect(await world.act('verify')).toMatchObject({
    status: 'failed',
    failure_code: 'damage_found',
    failure_reason: '2 missing and 1 damaged files in release 1.0: a and 2 more',
    result: {
      damaged: 3,
      releases: [
        {
          damaged_entries: [
            { destination: 'a', status: 'missing' },
            { destination: 'b', status: 'digest_mismatch' },
            { destination: 'c', status: 'missing' },
          ],
        },
      ],
    },
  });
  expect(world.attested().official?.failure).toMatchObject({
    reason: 'EntryDamaged',
    entry_count: 3,
    missing_count: 2,
  });
});

test('a failed attempt is that of the releases that hold what it was to repair', async () => {
  const world = await synced(false);
  const { repository } = world.releases;
  const attempts = createRepairAttempts(world.database);
  const [one, two] = ['one', 'two'].map((content) => blake3Hex(Buffer.from(content)));
  const current = repository.current('official')!;
  const damage = {
    channel: 'official',
    release_id: current.release_id,
    found_at: 1,
    found_by: 'verify',
  } as const;
  repository.addDamage({ ...damage, destination: 'a', blake3: one!, status: 'missing' });
  attempts.record([
    { subject: one!, problem: 'no answer', nowMs: 2000, nextAtMs: 3000 },
    { subject: two!, problem: 'not damaged', nowMs: 4000, nextAtMs: 5000 },
  ]);
  expect(attempts.lastFailureOf(current)).toMatchObject({ problem: 'no answer', tried_at: 2 });
  expect(attempts.lastFailureOf({ ...current, channel: 'localized' })).toBeNull();
});
