import { describe, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { createWorld, DAY, type World } from '../../support/release-world.ts';

const ANNOUNCE_SECONDS = 60;
/** That of the world. */
const LEAD_SECONDS = 15;

/** A world with release 1.0 as the current one, whose upstream has release 2.0. */
async function announcing(announceSeconds = ANNOUNCE_SECONDS): Promise<World> {
  const world = await createWorld({ announceSeconds });
  world.upstream.files = new Map([['a', 'one']]);
  expect((await world.act('sync')).status).toBe('succeeded');
  world.upstream.releaseId = '2.0';
  world.upstream.files = new Map([['a', 'two']]);
  return world;
}

function currentId(world: World): string | undefined {
  return world.attested().official?.release_id;
}

/** The earlier and announced releases of the newest statement, with the time of the switch. */
function others(world: World): readonly (readonly [string, number | undefined])[] {
  return world.attested().retained.map(({ release_id: id, current_at: at }) => [id, at]);
}

function seconds({ clock }: World): number {
  return Math.floor(clock.now() / 1000);
}

async function untilCurrent(world: World, id: string): Promise<void> {
  await until(() => currentId(world) === id);
}

describe('an announced release', () => {
  test('is whole and attested before it becomes current at the stated time', async () => {
    const world = await announcing();
    const at = seconds(world) + ANNOUNCE_SECONDS;
    const task = await world.act('sync');
    expect(task.result).toMatchObject({ unchanged: false, release_id: '2.0', current_at: at });
    expect(currentId(world)).toBe('1.0');
    expect(others(world)).toEqual([['2.0', at]]);
    const [announced] = world.attested().retained;
    expect(announced?.retained_until).toBeGreaterThan(at);
    const contents = await world.contents(announced?.snapshot_id ?? '');
    expect([...contents.keys()]).toEqual(['a']);

    await world.clock.advance((ANNOUNCE_SECONDS - 1) * 1000);
    expect(currentId(world)).toBe('1.0');
    await world.clock.advance(1000);
    await untilCurrent(world, '2.0');
    expect(others(world)).toEqual([['1.0', undefined]]);
    expect(world.releases.repository.announced()).toEqual([]);
    expect([world.row('1.0'), world.row('2.0')]).toEqual(['superseded', 'current']);
  });

  test('keeps its time, and is not fetched again, while upstream stays as it is', async () => {
    const world = await announcing();
    await world.act('sync');
    const before = others(world);
    const opened = world.upstream.opened.length;
    await world.clock.advance(10_000);
    expect((await world.act('sync')).result).toMatchObject({
      unchanged: true,
      release_id: '1.0',
      announced_release_id: '2.0',
      current_at: before[0]?.[1],
    });
    expect(others(world)).toEqual(before);
    expect(world.upstream.opened).toHaveLength(opened);
  });

  test('is the current one for a sync in which its time comes while the catalog is read', async () => {
    const world = await announcing();
    await world.act('sync');
    world.upstream.whileRead = async () => {
      await world.clock.advance(ANNOUNCE_SECONDS * 1000);
      await untilCurrent(world, '2.0');
    };
    expect((await world.act('sync')).result).toMatchObject({ unchanged: true, release_id: '2.0' });
    expect(currentId(world)).toBe('2.0');
  });

  test('is not taken for checked when its time comes while the catalog of another one is read', async () => {
    const world = await announcing();
    await world.act('sync');
    world.upstream.releaseId = '3.0';
    world.upstream.files = new Map([
      ['a', 'two'],
      ['b', 'three'],
    ]);
    world.upstream.opened.length = 0;
    world.upstream.whileRead = async () => {
      await world.clock.advance(ANNOUNCE_SECONDS * 1000);
      await untilCurrent(world, '2.0');
      await world.damage('two', null);
    };
    expect((await world.act('sync')).result).toMatchObject({ release_id: '3.0', previous_release_id: '2.0' });
    expect(world.upstream.opened.toSorted()).toEqual(['a', 'b']);
  });

  test('is taken back when upstream goes back, and replaced by a newer one', async () => {
    const world = await announcing();
    await world.act('sync');
    world.upstream.releaseId = '3.0';
    world.upstream.files = new Map([['a', 'three']]);
    await world.clock.advance(30_000);
    const at = seconds(world) + ANNOUNCE_SECONDS;
    await world.act('sync');
    expect(others(world)).toEqual([['3.0', at]]);
    await world.clock.advance(31_000);
    expect(currentId(world)).toBe('1.0');

    world.upstream.releaseId = '1.0';
    world.upstream.files = new Map([['a', 'one']]);
    await world.act('sync');
    expect(others(world)).toEqual([]);
    await world.clock.advance(ANNOUNCE_SECONDS * 1000);
    expect(currentId(world)).toBe('1.0');
  });

  test('becomes current after the start when its time passed while the daemon was away', async () => {
    const world = await announcing();
    await world.act('sync');
    world.clock.jumpTo(world.clock.now() + ANNOUNCE_SECONDS * 1000);
    await world.restart();
    await untilCurrent(world, '2.0');
  });

  test('is no longer announced while it is damaged, and becomes current when it is sound', async () => {
    const world = await announcing();
    await world.act('sync');
    await world.damage('two', 'bad');
    await world.act('verify', { force: true });
    expect(others(world)).toEqual([]);
    await world.clock.advance(ANNOUNCE_SECONDS * 1000);
    expect(currentId(world)).toBe('1.0');
    await world.act('repair', { args: ['release_id=2.0'] });
    await world.clock.advance(5000);
    await untilCurrent(world, '2.0');
  });

  test.each([
    ['back by an hour', -3600],
    ['back by a day', -DAY / 1000],
  ])('stays announced when the wall clock is set %s', async (_, shift) => {
    const world = await announcing();
    await world.act('sync');
    const announced = others(world);
    const [before] = world.attested().retained;
    for (const round of [1, 2]) {
      const { version } = world.attested();
      world.clock.jumpTo(world.clock.now() + shift * 1000);
      await world.act('refresh');
      expect(others(world)).toEqual(announced);
      await world.clock.advance(2000);
      await until(() => world.attested().version > version + 1);
      expect(others(world)).toEqual(announced);
      const [after] = world.attested().retained;
      expect(after?.verified_at).toBe(before!.verified_at + round * shift);
    }
    expect(currentId(world)).toBe('1.0');
    // No verification was needed: its age is known.
    expect(world.engine.historyOf('verify').last).toBeNull();
    world.clock.jumpTo(announced[0]![1]! * 1000);
    await world.clock.advance(2000);
    await untilCurrent(world, '2.0');
  });

  test('becomes current immediately when the wall clock is set forward past its time', async () => {
    const world = await announcing(3600);
    await world.act('sync');
    world.clock.jumpTo(world.clock.now() + 1_800_000);
    await world.clock.advance(2000);
    expect([currentId(world), others(world).length]).toEqual(['1.0', 1]);
    world.clock.jumpTo(world.clock.now() + 1_800_000);
    await world.clock.advance(2000);
    await untilCurrent(world, '2.0');
  });

  test('is verified and announced again when the clock was set back while the daemon was away', async () => {
    const world = await announcing();
    await world.act('sync');
    const announced = others(world);
    await world.restart({ start: false });
    world.clock.jumpTo(world.clock.now() - 3_600_000);
    await world.restart();
    await until(() => others(world).length > 0);
    expect(others(world)).toEqual(announced);
    expect(world.attested().retained[0]?.verified_at).toBeLessThanOrEqual(seconds(world));
  });

  test('is verified when the wall clock was set forward by more than the age of a verification', async () => {
    const world = await announcing();
    await world.act('sync');
    world.clock.jumpTo(world.clock.now() + 8 * DAY);
    await world.clock.advance(2000);
    await until(async () => {
      await world.clock.advance(5000);
      return currentId(world) === '2.0';
    });
  });

  test('is not verified at every renewal while it is damaged', async () => {
    const world = await announcing();
    await world.act('sync');
    await world.damage('two', 'bad');
    const { task_id: known } = await world.act('verify', { force: true });
    const eightDaysAgo = seconds(world) - (8 * DAY) / 1000;
    world.releases.repository.update('official', '2.0', { verified_at: eightDaysAgo });
    const { version } = world.attested();
    await until(async () => {
      await world.clock.advance(5000);
      return world.attested().version > version + 1;
    });
    expect(world.engine.historyOf('verify').last?.task_id).toBe(known);
    expect(world.engine.list(10).filter(({ kind }) => kind === 'verify')).toHaveLength(1);
  });

  test('is not deleted by a cleanup', async () => {
    const world = await announcing();
    await world.act('sync');
    await expect(world.act('release-cleanup', { id: '2.0', force: true })).rejects.toMatchObject({
      code: 'release_protected',
    });
  });

  test('becomes current early when that is asked for, at a time that a new attestation states', async () => {
    const world = await announcing();
    await world.act('sync');
    const { version } = world.attested();
    const at = seconds(world) + LEAD_SECONDS;
    const early = { args: ['current=2.0'] };
    expect((await world.act('refresh', early)).result).toMatchObject({
      brought_forward: true,
      current_at: at,
      attestation_version: version + 1,
    });
    expect(others(world)).toEqual([['2.0', at]]);
    // A second request, and a sync, leave the nearer time as it is.
    await world.clock.advance(1000);
    expect((await world.act('refresh', early)).result).toEqual({
      release_id: '2.0',
      brought_forward: false,
      current_at: at,
    });
    await world.act('sync');
    expect(others(world)).toEqual([['2.0', at]]);
    await world.clock.advance((LEAD_SECONDS - 1) * 1000);
    await untilCurrent(world, '2.0');
    expect((await world.act('refresh', early)).result).toMatchObject({ brought_forward: false });
  });

  test('is the only one that can become current early', async () => {
    const world = await announcing();
    await world.act('sync');
    await world.clock.advance(ANNOUNCE_SECONDS * 1000);
    await untilCurrent(world, '2.0');
    const refusal = async (id: string): Promise<unknown> =>
      await world.act('refresh', { args: [`current=${id}`] }).catch((error: unknown) => error);
    expect(await refusal('1.0')).toMatchObject({ code: 'not_announced' });
    expect(await refusal('3.0')).toMatchObject({ code: 'unknown_release' });
    await expect(world.act('refresh', { args: ['now=2.0'] })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  test.each(['release.attestation.signed', 'release.attestation.published', 'release.database.announced'])(
    'has its old or its new time after a crash at %s',
    async (place) => {
      const world = await announcing();
      await world.act('sync');
      const stated = seconds(world) + ANNOUNCE_SECONDS;
      const nearer = seconds(world) + LEAD_SECONDS;
      world.script.failAt = place;
      expect((await world.act('refresh', { args: ['current=2.0'] })).status).toBe('failed');
      await world.restart();
      const at = place === 'release.attestation.signed' ? stated : nearer;
      expect(others(world)).toEqual([['2.0', at]]);
      await world.clock.advance((at - seconds(world)) * 1000);
      await untilCurrent(world, '2.0');
    },
  );

  test.each(['release.attestation.signed', 'release.attestation.published', 'release.database.announced'])(
    'survives a crash at %s with the old or the new state',
    async (place) => {
      const world = await announcing();
      world.script.failAt = place;
      expect((await world.act('sync')).status).toBe('failed');
      await world.restart();
      expect(currentId(world)).toBe('1.0');
      const announced = world.releases.repository.announced().map(({ release_id: id }) => id);
      expect(announced).toEqual(place === 'release.attestation.signed' ? [] : ['2.0']);
      expect(others(world).map(([id]) => id)).toEqual(announced);
      await world.act('sync');
      expect(others(world).map(([id]) => id)).toEqual(['2.0']);
      await world.clock.advance(ANNOUNCE_SECONDS * 1000);
      await untilCurrent(world, '2.0');
    },
  );

  test('is not lost with the database', async () => {
    const world = await announcing();
    await world.act('sync');
    const [announced] = world.releases.repository.announced();
    await world.restart({ database: 'lost' });
    expect(world.releases.repository.announced()).toEqual([announced]);
    // An adopted release is attested only after a full verification.
    await world.act('verify', { force: true });
    await world.clock.advance(ANNOUNCE_SECONDS * 1000);
    await untilCurrent(world, '2.0');
  });
});

test('without the setting, nothing is announced', async () => {
  const world = await announcing(0);
  await world.act('sync');
  expect([currentId(world), others(world)]).toEqual(['2.0', [['1.0', undefined]]]);
});

test('a sync announces nothing while there is no sound release', async () => {
  const world = await announcing();
  await world.damage('one', 'bad');
  await world.act('verify', { force: true });
  await world.act('sync');
  expect(currentId(world)).toBe('2.0');
});
