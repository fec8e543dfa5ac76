import { describe, expect, test } from 'vitest';
import { createRollbackRecords } from '../../../../src/localization/localized/rollback/rollback-records.ts';
import { act } from '../../../support/actions.ts';
import { until } from '../../../support/until.ts';
import {
  createLocalizedWorld,
  digestsOf,
  offered,
  OFFICIAL,
  type LocalizedWorld,
} from '../../../support/localized-world.ts';

const ANNOUNCE_SECONDS = 60;

/** A world whose release `1.0-l1` is current, and whose release `1.0-l2` is announced. */
async function announcing(): Promise<LocalizedWorld> {
  const world = await createLocalizedWorld({ announceSeconds: ANNOUNCE_SECONDS });
  const first = await world.publish({ 'a.csv': 'text 1' });
  // There is nothing to wait for: clients have no localized release now.
  expect(first.result).toMatchObject({ localized_release_id: '1.0-l1' });
  expect(first.result).not.toHaveProperty('current_at');
  const second = await world.publish({ 'a.csv': 'text 2' });
  expect(second.result).toMatchObject({
    unchanged: false,
    localized_release_id: '1.0-l2',
    current_at: seconds(world) + ANNOUNCE_SECONDS,
  });
  world.textCalls.length = 0;
  return world;
}

function seconds({ clock }: LocalizedWorld): number {
  return Math.floor(clock.now() / 1000);
}

function currentId(world: LocalizedWorld): string | undefined {
  return world.attested().localized?.release_id;
}

/** The announced releases of the newest statement, with the times of their switches. */
function announced(world: LocalizedWorld): readonly (readonly [string, number | undefined])[] {
  return world
    .attested()
    .retained.filter(({ current_at: at }) => at !== undefined)
    .map(({ release_id: id, current_at: at }) => [id, at]);
}

async function untilCurrent(world: LocalizedWorld, id: string): Promise<void> {
  await until(() => currentId(world) === id);
}

/** Lets upstream have another official release. */
async function syncNext(world: LocalizedWorld): Promise<void> {
  world.upstream.releaseId = '2.0';
  world.upstream.files = new Map(Object.entries({ ...OFFICIAL, 'c.bin': 'changed' }));
  expect((await world.act('sync')).status).toBe('succeeded');
}

describe('an announced localized release', () => {
  test('is whole and attested before it becomes current at the stated time', async () => {
    const world = await announcing();
    const at = seconds(world) + ANNOUNCE_SECONDS;
    expect([currentId(world), announced(world)]).toEqual(['1.0-l1', [['1.0-l2', at]]]);
    expect(await offered(world, world.attested().retained[0]?.snapshot_id)).toEqual(
      digestsOf({ ...OFFICIAL, 'a.csv': 'text 2' }),
    );
    await world.clock.advance((ANNOUNCE_SECONDS - 1) * 1000);
    expect(currentId(world)).toBe('1.0-l1');
    await world.clock.advance(1000);
    await untilCurrent(world, '1.0-l2');
    expect(announced(world)).toEqual([]);
  });

  test('keeps its time when it is published again, and is taken back by a publish of the current content', async () => {
    const world = await announcing();
    const before = announced(world);
    await world.clock.advance(10_000);
    await world.publish({ 'a.csv': 'text 2' });
    expect(announced(world)).toEqual(before);
    const same = await world.publish({ 'a.csv': 'text 1' });
    expect(same.result).toMatchObject({ unchanged: true, localized_release_id: '1.0-l1' });
    expect(announced(world)).toEqual([]);
    await world.clock.advance(ANNOUNCE_SECONDS * 1000);
    expect(currentId(world)).toBe('1.0-l1');
  });

  test('is taken back when its base is replaced before its time', async () => {
    const world = await announcing();
    await world.clock.advance(1000);
    await syncNext(world);
    expect(announced(world).map(([id]) => id)).toEqual(['1.0-l2', '2.0']);
    await world.act('refresh', { args: ['current=2.0'] });
    await world.clock.advance(15_000);
    await until(() => world.attested().official?.release_id === '2.0');
    expect(announced(world)).toEqual([]);
    expect(world.releases.repository.announced()).toEqual([]);
    await world.clock.advance(ANNOUNCE_SECONDS * 1000);
    // The earlier one waits for a release of the new base, and is served as an earlier one.
    expect(world.attested().localized).toBeNull();
    expect(world.row('1.0-l2')).toBe('verified');
  });

  test('replaces one whose base is no longer current at its time, too', async () => {
    const world = await announcing();
    await world.clock.advance(ANNOUNCE_SECONDS * 1000);
    await syncNext(world);
    await world.clock.advance(ANNOUNCE_SECONDS * 1000);
    await until(() => world.attested().official?.release_id === '2.0');
    await world.writePatches({ 'a.csv': 'text 3' }, '2.0');
    const task = await world.act('localized-publish', { patch_manifest: 'patches.json', reviewer: 'Ada' });
    expect(task.result).toMatchObject({ localized_release_id: '2.0-l1', base_release_id: '2.0' });
    expect(announced(world).map(([id]) => id)).toEqual(['2.0-l1']);
    expect(world.localized().automation.status().state).toBe('followed');
    await world.clock.advance(ANNOUNCE_SECONDS * 1000);
    await untilCurrent(world, '2.0-l1');
  });

  test('is taken back by a rollback immediately, and the current one stays', async () => {
    const world = await announcing();
    const task = await world.act('localized-rollback', { reviewer: 'Ada', reason: 'wrong names' });
    expect(task).toMatchObject({
      status: 'succeeded',
      result: { rolled_back_release_id: '1.0-l2', localized_release_id: '1.0-l1', withdrawn: false },
    });
    expect([currentId(world), announced(world)]).toEqual(['1.0-l1', []]);
    expect(world.textCalls).toEqual([
      { hold: { from: '1.0-l2', to: '1.0-l1', reviewer: 'Ada', reason: 'wrong names' } },
      { published: '1.0-l1' },
    ]);
    expect(world.localized().rollbackOf('1.0-l2')).toMatchObject({ reviewer: 'Ada' });
    await world.clock.advance(ANNOUNCE_SECONDS * 1000);
    expect(currentId(world)).toBe('1.0-l1');
  });

  test('does not outlive a rollback of the current one', async () => {
    const world = await announcing();
    const task = await world.act('localized-rollback', { args: ['from=1.0-l1'] });
    expect(task.result).toMatchObject({ rolled_back_release_id: '1.0-l1', withdrawn: true });
    expect([currentId(world), announced(world)]).toEqual([undefined, []]);
    await world.clock.advance(ANNOUNCE_SECONDS * 1000);
    expect(world.attested().localized).toBeNull();
  });

  test('counts as taken back no longer when it was published again and its time has come', async () => {
    const world = await announcing();
    await world.clock.advance(ANNOUNCE_SECONDS * 1000);
    await untilCurrent(world, '1.0-l2');
    await world.act('localized-rollback');
    await world.publish({ 'a.csv': 'text 2' }, { args: ['resume=true'] });
    expect(announced(world).map(([id]) => id)).toEqual(['1.0-l2']);
    expect(world.localized().rollbackOf('1.0-l2')).not.toBeNull();
    await world.clock.advance(ANNOUNCE_SECONDS * 1000);
    await untilCurrent(world, '1.0-l2');
    expect(world.localized().rollbackOf('1.0-l2')).toBeNull();
    world.localized().recordRollback();
    expect(createRollbackRecords(world.database).takenBackBy('1.0-l2')).toBeNull();
  });

  test('can be taken back only by its own name or that of the current one', async () => {
    const world = await announcing();
    await expect(
      act(world.actions, 'localized-rollback', { localized_release_id: '1.0-l2' }),
    ).rejects.toMatchObject({ code: 'nothing_to_roll_back' });
  });

  test.each(['release.attestation.signed', 'release.attestation.published', 'release.database.announced'])(
    'survives a crash at %s with the old or the new state',
    async (place) => {
      const world = await createLocalizedWorld({ announceSeconds: ANNOUNCE_SECONDS });
      await world.publish({ 'a.csv': 'text 1' });
      await world.writePatches({ 'a.csv': 'text 2' });
      world.script.failAt = place;
      const body = { patch_manifest: 'patches.json', reviewer: 'Ada' };
      expect((await world.act('localized-publish', body)).status).toBe('failed');
      await world.restart();
      expect(currentId(world)).toBe('1.0-l1');
      const ids = announced(world).map(([id]) => id);
      expect(ids).toEqual(place === 'release.attestation.signed' ? [] : ['1.0-l2']);
      expect(world.releases.repository.announced().map(({ release_id: id }) => id)).toEqual(ids);
      await world.act('localized-publish', body);
      expect(announced(world).map(([id]) => id)).toEqual(['1.0-l2']);
      await world.clock.advance(ANNOUNCE_SECONDS * 1000);
      await untilCurrent(world, '1.0-l2');
    },
  );

  test.each([
    'release.announcement.cancelled',
    'localized.rollback.recorded',
    'release.attestation.signed',
    'release.database.current',
  ])('is taken back by a rollback also after a crash at %s', async (place) => {
    const world = await announcing();
    world.script.failAt = place;
    expect((await world.act('localized-rollback', { reviewer: 'Ada' })).status).toBe('failed');
    await world.restart();
    // The record of a rollback that has not taken effect does not say that it has.
    const isOver = announced(world).length === 0;
    expect(world.localized().rollbackOf('1.0-l2') !== null).toBe(isOver);
    if (!isOver) await world.act('localized-rollback', { reviewer: 'Ada' });
    await world.clock.advance(ANNOUNCE_SECONDS * 1000);
    expect([currentId(world), announced(world)]).toEqual(['1.0-l1', []]);
  });

  test('is not lost with the database', async () => {
    const world = await announcing();
    const before = announced(world);
    await world.restart({ database: 'lost' });
    await world.act('verify', { force: true });
    expect(announced(world)).toEqual(before);
    await world.clock.advance(ANNOUNCE_SECONDS * 1000);
    await untilCurrent(world, '1.0-l2');
  });
});
