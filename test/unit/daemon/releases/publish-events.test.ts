import { expect, test } from 'vitest';
import { createWorld, type World } from './release-world.ts';

function events(world: World): unknown[] {
  return world.database
    .prepare(
      'SELECT channel, release_id, previous_release_id, snapshot_id, at FROM release_event ORDER BY event_id',
    )
    .all()
    .map(({ channel, release_id: id, previous_release_id: previous }) => [channel, id, previous]);
}

async function publish(world: World, id: string): Promise<void> {
  world.upstream.releaseId = id;
  world.upstream.files = new Map([['own', `only in ${id}`]]);
  expect((await world.act('sync')).status).toBe('succeeded');
}

test('every move of the pointer is an event, and only that', async () => {
  const world = await createWorld();
  await publish(world, '1.0');
  await publish(world, '2.0');
  await world.act('sync');
  await world.act('sync', { force: true });
  await world.damage('only in 2.0', 'bad');
  await world.act('verify');
  await world.act('repair');
  await publish(world, '1.0');
  const expected = [
    ['official', '1.0', null],
    ['official', '2.0', '1.0'],
    ['official', '1.0', '2.0'],
  ];
  expect(events(world)).toEqual(expected);
  const row = world.database
    .prepare('SELECT snapshot_id, at FROM release_event ORDER BY event_id DESC')
    .get();
  expect(row).toEqual({
    snapshot_id: world.releases.repository.current('official')?.snapshot_id,
    at: Math.floor(world.clock.now() / 1000),
  });
  await world.restart();
  expect(events(world)).toEqual(expected);
});

test('a switch that the database had not recorded is an event of the recovery', async () => {
  const world = await createWorld();
  await publish(world, '1.0');
  world.upstream.releaseId = '2.0';
  world.upstream.files = new Map([['own', 'only in 2.0']]);
  world.script.failAt = 'release.attestation.published';
  expect((await world.act('sync')).status).toBe('failed');
  expect(events(world)).toEqual([['official', '1.0', null]]);
  await world.restart();
  expect(world.attested().official?.release_id).toBe('2.0');
  expect(events(world)).toEqual([
    ['official', '1.0', null],
    ['official', '2.0', '1.0'],
  ]);
});
