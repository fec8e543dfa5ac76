import { beforeEach, describe, expect, test } from 'vitest';
import { manifestEntries } from '../../../src/releases/catalog/catalog-entries.ts';
import { summarizeContent } from '../../../src/releases/records/content-digest.ts';
import type { ReleaseDraft } from '../../../src/releases/records/release-record-of.ts';
import type { ReleaseRow } from '../../../src/releases/records/release-row.ts';
import type { TaskContext } from '../../../src/engine/tasks/task.ts';
import type { SnapshotId } from '../../../src/domain/release/digest.ts';
import type { ReleaseId } from '../../../src/domain/release/release-id.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { createWorld, type World } from '../../support/release-world.ts';

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

describe('the events of a publish', () => {
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
});

const context = {
  taskId: 'task-1',
  signal: new AbortController().signal,
  progress: () => undefined,
} as unknown as TaskContext;

/** A localized release with the files of the official one. */
async function localizedDraft({ releases }: World): Promise<ReleaseDraft> {
  const base = releases.repository.current('official');
  if (base?.revision_id === null || base === null) throw new Error('nothing was synced');
  return {
    channel: 'localized',
    releaseId: '1.0-l1' as ReleaseId,
    upstreamReleaseId: '1.0-l1' as ReleaseId,
    baseReleaseId: base.release_id,
    revisionId: base.revision_id,
    content: await summarizeContent(manifestEntries(releases.catalogs, base.revision_id), null),
    serverInfo: null,
    appVersion: null,
    excludedCount: 0,
  };
}

describe('a localized release that is damaged when it is registered', () => {
  let world: World;
  let draft: ReleaseDraft;
  let copied: ReleaseDraft;
  const register = async (each: ReleaseDraft): Promise<ReleaseRow> =>
    await world.releases.publisher.register(each, context);
  const finders = (): readonly string[] =>
    world.releases.repository.damageOf('localized', '1.0-l1', 10).map(({ found_by }) => found_by);

  beforeEach(async () => {
    world = await createWorld();
    world.upstream.files = new Map([
      ['a', 'one'],
      ['b', 'two'],
    ]);
    expect((await world.act('sync')).status).toBe('succeeded');
    draft = await localizedDraft(world);
    const { snapshot_id: snapshotId, created_at: createdAt } = await register(draft);
    copied = {
      ...draft,
      origin: { snapshotId: snapshotId as SnapshotId, createdAt },
    };
  });

  test('lets the sync of an edge try again, which fetches the object', async () => {
    await world.damage('two', null);
    await expect(register(copied)).rejects.toMatchObject({
      code: 'release_damaged',
      retryable: true,
      message:
        'release 1.0-l1 cannot be registered: 1 missing object; the next attempt fetches the missing or damaged objects',
    });
    expect(finders()).toEqual(['sync']);
  });

  test('is not retried by a publish, which fetches nothing', async () => {
    await world.damage('two', null);
    await expect(register(draft)).rejects.toMatchObject({
      code: 'release_damaged',
      retryable: false,
      message:
        'release 1.0-l1 cannot be registered: 1 missing object; nothing was published. Run repair, then try again',
    });
    expect(finders()).toEqual(['publish']);
  });

  test('and whose object others found damaged tells the same next steps', async () => {
    world.releases.objects.markDamaged(blake3Hex(Buffer.from('two')));
    await expect(register(copied)).rejects.toMatchObject({
      retryable: true,
      message:
        'release 1.0-l1 cannot be registered: one of its objects was found damaged; the next attempt fetches the missing or damaged objects',
    });
    await expect(register(draft)).rejects.toMatchObject({
      retryable: false,
      message:
        'release 1.0-l1 cannot be registered: one of its objects was found damaged; nothing was published. Run repair, then try again',
    });
  });
});
