import { instant } from '../../../src/domain/instant.ts';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { UpstreamError } from '../../../src/upstream/upstream.ts';
import { act } from '../../support/actions.ts';
import { until } from '../../support/until.ts';
import { createSyncedWorld, createWorld, ended, type World } from '../../support/release-world.ts';

const systemError = (code: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`${code}: refused`), { code });

describe('a failed sync leaves the served release unchanged', () => {
  test.each([
    [
      'a file is not there',
      'upstream_not_found',
      (world: World) => {
        world.upstream.sent.set('c', null);
      },
    ],
    [
      'upstream sends other bytes',
      'digest_mismatch',
      (world: World) => {
        world.upstream.sent.set('c', 'xxxxx');
      },
    ],
    [
      'upstream is down',
      'upstream_unreachable',
      (world: World) => {
        world.upstream.failure = new UpstreamError('upstream_unreachable', 'connection refused', {
          retryable: true,
        });
      },
    ],
    [
      'the catalog is empty',
      'catalog_empty',
      (world: World) => {
        world.upstream.files.clear();
      },
    ],
    [
      'the catalog changes again and again meanwhile',
      'catalog_changed',
      (world: World) => {
        world.upstream.onOpen = () => {
          world.upstream.files.set('c', `change ${world.upstream.opened.length}`);
        };
      },
    ],
    [
      'the volume is too small',
      'no_space',
      (world: World) => {
        world.script.freeBytes = 4;
      },
    ],
    [
      'the volume is full',
      'no_space',
      (world: World) => {
        world.script.broken.set('commitObject', systemError('ENOSPC'));
      },
    ],
    [
      'the volume is read-only',
      'read_only',
      (world: World) => {
        world.script.broken.set('stagingDirectory', systemError('EROFS'));
      },
    ],
    [
      'the disk fails under the manifest',
      'io_error',
      (world: World) => {
        world.script.broken.set('writeManifest', systemError('EIO'));
      },
    ],
    [
      'the attestation cannot be written',
      'read_only',
      (world: World) => {
        world.script.broken.set('publishAttestation', systemError('EROFS'));
      },
    ],
  ])('%s: %s', async (_, code, breakIt) => {
    const world = await createSyncedWorld();
    const before = await world.onVolume();
    world.upstream.releaseId = '2.0';
    world.upstream.files.set('c', 'three');
    breakIt(world);
    const failed = await world.act('sync');
    expect(failed).toMatchObject({ status: 'failed', failure_code: code });
    expect(failed.failure_reason).not.toBe('');
    expect(await world.onVolume()).toEqual(before);
    expect(world.attested()).toEqual(before);
    expect(world.row('1.0')).toBe('current');
    expect(world.releases.repository.current('official')?.release_id).toBe('1.0');
    await world.contents(String(before?.official?.snapshot_id));
  });

  test('reports the needed and the free space', async () => {
    const world = await createWorld({ reserveBytes: 100 });
    world.upstream.files = new Map([['a', 'x'.repeat(50)]]);
    world.script.freeBytes = 149;
    expect(await world.act('sync')).toMatchObject({
      failure_code: 'no_space',
      result: { needed_bytes: 50, reserve_bytes: 100, free_bytes: 149 },
    });
    expect(world.releases.syncState().missedBytes).toBe(150);
    world.script.freeBytes = 150;
    expect((await world.act('sync')).status).toBe('succeeded');
    expect(world.releases.syncState().missedBytes).toBeNull();
  });
});

describe('a sync fetches', () => {
  test('only the missing files after a failure', async () => {
    const world = await createWorld({ downloadConcurrency: 1 });
    world.upstream.files = new Map([
      ['a', 'one'],
      ['b', 'two'],
      ['c', 'three'],
    ]);
    world.upstream.stated = 'none';
    world.upstream.sent.set('c', null);
    expect((await world.act('sync')).failure_code).toBe('upstream_not_found');
    world.upstream.sent.clear();
    world.upstream.opened.length = 0;
    await world.restart();
    expect((await world.act('sync')).result).toMatchObject({ reused_entries: 2, downloaded_entries: 1 });
    expect(world.upstream.opened).toEqual(['c']);
  });

  test.each([
    ['blake3', ['b']],
    ['sha256', ['b']],
    ['md5', ['b']],
    ['none', ['a', 'b']],
  ] as const)('for a new release whose catalog states %s: %j', async (stated, fetched) => {
    const world = await createWorld();
    world.upstream.stated = stated;
    world.upstream.files = new Map([
      ['a', 'one'],
      ['b', 'two'],
    ]);
    await world.act('sync');
    world.upstream.opened.length = 0;
    world.upstream.releaseId = '2.0';
    world.upstream.files.set('b', 'TWO');
    expect((await world.act('sync')).status).toBe('succeeded');
    expect(world.upstream.opened.sort()).toEqual(fetched);
  });

  test('a missing object again even though the catalog is known', async () => {
    const world = await createSyncedWorld();
    await world.damage('one', null);
    expect((await world.act('verify')).result).toMatchObject({ damaged: 1 });
    expect((await world.act('sync')).status).toBe('succeeded');
    expect(world.upstream.opened).toEqual(['a']);
    expect(world.row('1.0')).toBe('current');
    expect(world.attested().official).toMatchObject({ release_id: '1.0', result: 'PASSED' });
  });

  test('a damaged object of the right size again', async () => {
    const world = await createSyncedWorld();
    await world.damage('one', 'onE');
    await world.act('verify');
    expect(world.attested().official?.result).toBe('FAILED');
    expect((await world.act('sync')).status).toBe('succeeded');
    expect(world.upstream.opened).toEqual(['a']);
    expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });
  });

  test('an object again that is found damaged while an unchanged catalog is read', async () => {
    const world = await createSyncedWorld();
    world.upstream.whileRead = async () => {
      await world.damage('one', 'onE');
      await world.act('verify');
      expect(world.attested().official?.result).toBe('FAILED');
    };
    expect(await world.act('sync')).toMatchObject({ status: 'succeeded', result: { damaged: 1 } });
    expect(world.upstream.opened).toEqual(['a']);
    expect(world.attested().official).toMatchObject({ release_id: '1.0', result: 'PASSED' });
  });

  test('everything again when forced and no digest is stated; the release stays the same', async () => {
    const world = await createWorld();
    world.upstream.stated = 'none';
    world.upstream.files = new Map([['a', 'one']]);
    const first = await world.act('sync');
    world.upstream.opened.length = 0;
    const forced = await world.act('sync', { force: true });
    expect(world.upstream.opened).toEqual(['a']);
    expect(forced.result).toMatchObject({
      unchanged: true,
      release_id: '1.0',
      snapshot_id: first.result?.['snapshot_id'],
    });
    expect(world.releases.repository.list(null, 10)).toHaveLength(1);
  });
});

describe('files that upstream does not have', () => {
  test('are all named in one run, and everything else is stored for the next', async () => {
    const world = await createWorld({ downloadConcurrency: 2 });
    const names = Array.from({ length: 30 }, (_, at) => `file-${String(at).padStart(2, '0')}`);
    world.upstream.files = new Map(names.map((name) => [name, `bytes of ${name}`]));
    const missing = names.filter((_, at) => at % 4 === 1);
    for (const name of missing) world.upstream.sent.set(name, null);
    const failed = await world.act('sync');
    expect(failed).toMatchObject({ failure_code: 'upstream_not_found', result: { failed_entries: 8 } });
    expect(failed.failure_reason).toMatch(
      /^8 of 30 files are missing upstream \(.+ and 3 others\): file-\d\d is not there; all others are stored/,
    );
    const named = ((failed.result ?? {})['failed'] as { destination: string }[]).map(
      ({ destination }) => destination,
    );
    expect(named.sort()).toEqual(missing);
    world.upstream.sent.clear();
    expect((await world.act('sync')).result).toMatchObject({ reused_entries: 22, downloaded_entries: 8 });
  });

  test.each([1, 120])('do not hide that one has wrong bytes: %s missing before it', async (count) => {
    const world = await createWorld({ downloadConcurrency: 1 });
    const missing = Array.from({ length: count }, (_, at) => `a${at}`);
    world.upstream.files = new Map([...missing, 'b', 'c'].map((name) => [name, `bytes of ${name}`]));
    for (const name of missing) world.upstream.sent.set(name, null);
    world.upstream.sent.set('b', 'bytes of x');
    const failed = await world.act('sync');
    expect(failed.failure_code).toBe('digest_mismatch');
    expect(failed.failure_reason).toContain(
      `${count + 1} of ${count + 2} files are missing or wrong upstream ("a0", `,
    );
  });

  test('are taken from another place that has the same bytes', async () => {
    const world = await createWorld({ downloadConcurrency: 1 });
    world.upstream.files = new Map(['a', 'b', 'c'].map((name) => [name, name === 'c' ? 'other' : 'same']));
    world.upstream.sent.set('a', null);
    expect(await world.act('sync')).toMatchObject({
      status: 'succeeded',
      result: { entry_count: 3, downloaded_entries: 2 },
    });
  });

  test('are found behind one that upstream does not send', async () => {
    const world = await createWorld({ downloadConcurrency: 1 });
    world.upstream.files = new Map(['a', 'b', 'c', 'd'].map((name) => [name, `bytes of ${name}`]));
    world.upstream.sent.set('c', null);
    world.upstream.onOpen = (destination) => {
      if (destination === 'b' && world.upstream.opened.length === 2)
        throw new UpstreamError('upstream_status', 'b answered with status 500', { retryable: true });
    };
    expect(await world.act('sync')).toMatchObject({
      failure_code: 'upstream_status',
      failure_reason: expect.stringContaining('2 of 4 files could not be fetched ("b", "c")') as string,
    });
    expect(await world.act('sync')).toMatchObject({
      failure_code: 'upstream_not_found',
      failure_reason: expect.stringContaining('1 of 4 files is missing upstream ("c")') as string,
    });
    expect(world.upstream.opened).toEqual(['a', 'b', 'c', 'd', 'b', 'c']);
  });

  test('are not looked for at a server that answers each request with a failure', async () => {
    const world = await createWorld({ downloadConcurrency: 1 });
    world.upstream.files = new Map(Array.from({ length: 30 }, (_, at) => [`file-${at}`, `bytes ${at}`]));
    world.upstream.onOpen = () => {
      throw new UpstreamError('upstream_status', 'it answered with status 401');
    };
    expect(await world.act('sync')).toMatchObject({
      failure_code: 'upstream_status',
      failure_reason: 'it answered with status 401',
    });
    expect(world.upstream.opened.length).toBeLessThan(10);
  });

  test('end the run once there are a thousand of them', async () => {
    const world = await createWorld({ downloadConcurrency: 1 });
    world.upstream.files = new Map(Array.from({ length: 1050 }, (_, at) => [`file-${at}`, 'bytes']));
    world.upstream.stated = 'none';
    for (const name of world.upstream.files.keys()) world.upstream.sent.set(name, null);
    const failed = await world.act('sync');
    expect(failed.failure_reason).toContain('the run ended after so many');
    expect(failed.result).toMatchObject({ failed_entries: 1000, failed_named: 100 });
    expect(world.upstream.opened.length).toBeLessThan(1050);
  });
});

describe('entries that are listed twice', () => {
  test('count once when they say the same, and are named with both places when they do not', async () => {
    const world = await createWorld();
    world.upstream.files = new Map([
      ['a', 'one'],
      ['b', 'two'],
    ]);
    const [first] = world.upstream.entries();
    if (first === undefined) throw new Error('no entry');
    world.upstream.listedAgain.push({ ...first, locator: 'elsewhere' });
    const task = await world.act('sync');
    expect(task.result).toMatchObject({ entry_count: 2, downloaded_entries: 2 });

    world.upstream.listedAgain.push({ ...first, size: 4, place: 'entries[3]' });
    expect(await world.act('sync')).toMatchObject({
      failure_code: 'destination_duplicate',
      failure_reason: expect.stringMatching(
        /^the catalog lists the destination "a" twice with different facts: .+ \(3 bytes, blake3 .+\), and entries\[3\] \(4 bytes/,
      ) as string,
    });
  });

  test('are not the same without a digest when their bytes are in two places', async () => {
    const world = await createWorld();
    world.upstream.stated = 'none';
    world.upstream.files = new Map([['a', 'one']]);
    const [first] = world.upstream.entries();
    if (first === undefined) throw new Error('no entry');
    world.upstream.listedAgain.push(first);
    expect((await world.act('sync')).status).toBe('succeeded');
    world.upstream.listedAgain.push({ ...first, locator: 'elsewhere' });
    expect((await world.act('sync')).failure_code).toBe('destination_duplicate');
  });
});

test('files that are left out on purpose are counted in the result and in the attestation', async () => {
  const world = await createWorld();
  world.upstream.files = new Map([['a', 'one']]);
  world.upstream.excludedCount = 2;
  expect((await world.act('sync')).result).toMatchObject({ excluded_entries: 2, entry_count: 1 });
  expect(world.attested().official).toMatchObject({ excluded_count: 2, entry_count: 1 });
  // The same content, of which upstream now lists nothing else.
  world.upstream.excludedCount = 0;
  expect((await world.act('sync')).result).toMatchObject({ release_id: '1.0' });
  expect(world.attested().official).not.toHaveProperty('excluded_count');
  world.upstream.files.clear();
  world.upstream.excludedCount = 3;
  expect((await world.act('sync')).failure_reason).toContain('the 3 that upstream.exclude leaves out');
});

describe('an upstream that publishes another catalog while files are fetched', () => {
  /** Publishes release 2.0 when the file is opened for the first time: c has other bytes, and d is gone. */
  function republishAt(world: World, opened: string): void {
    world.upstream.releaseId = '1.9';
    world.upstream.files.set('c', 'three').set('d', 'four');
    world.upstream.onOpen = (destination) => {
      if (destination !== opened || world.upstream.releaseId === '2.0') return;
      world.upstream.releaseId = '2.0';
      world.upstream.files.set('c', 'THREE');
      world.upstream.files.delete('d');
    };
  }

  test.each([
    ['a file with other bytes', 'c'],
    ['a file that is gone', 'd'],
  ])('is noticed at once by %s, and the run starts over and keeps what still fits', async (_case, opened) => {
    const world = await createSyncedWorld({ a: 'one', b: 'two' }, { downloadConcurrency: 1 });
    republishAt(world, opened);
    const task = await world.act('sync');
    expect(task).toMatchObject({ status: 'succeeded', attempt: 1 });
    expect(task.result).toMatchObject({ release_id: '2.0', restarts: 1 });
    expect(world.upstream.opened.filter((name) => ['a', 'b'].includes(name))).toEqual([]);
    const lines = world.engine.logs(task.task_id)?.lines ?? [];
    expect(lines.filter(({ level }) => level === 'warn')).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(/^the run starts over .+ \(1 of at most 3\)/) as string,
      }),
    ]);
    await world.contents(String(task.result?.['snapshot_id']));
  });

  test('is noticed at the end when all files could be fetched', async () => {
    const world = await createSyncedWorld();
    world.upstream.files.set('c', 'three');
    world.upstream.onOpen = () => void world.upstream.files.set('d', 'four');
    const task = await world.act('sync');
    expect(task.result).toMatchObject({ restarts: 1, entry_count: 4 });
    expect(world.upstream.opened).toEqual(['c', 'd']);
  });
});

describe('names of releases', () => {
  test('other content under the same name gets another name, and the first keeps its bytes', async () => {
    const world = await createSyncedWorld();
    const first = world.attested().official;
    world.upstream.files.set('a', 'other');
    expect((await world.act('sync')).result).toMatchObject({
      release_id: '1.0-2',
      upstream_release_id: '1.0',
    });
    expect(world.attested()).toMatchObject({
      official: { release_id: '1.0-2' },
      retained: [{ release_id: '1.0', snapshot_id: first?.snapshot_id }],
    });
    expect((await world.act('sync')).result).toMatchObject({ unchanged: true, release_id: '1.0-2' });
    expect((await world.contents(String(first?.snapshot_id))).get('a')?.size).toBe(3);
  });

  test('upstream goes back: the earlier release becomes current again under its name', async () => {
    const world = await createSyncedWorld();
    const first = world.attested().official;
    world.upstream.releaseId = '2.0';
    world.upstream.files.set('c', 'three');
    await world.act('sync');
    world.upstream.releaseId = '1.0';
    world.upstream.files.delete('c');
    expect((await world.act('sync')).result).toMatchObject({ release_id: '1.0', previous_release_id: '2.0' });
    expect(world.attested()).toMatchObject({
      official: { release_id: '1.0', snapshot_id: first?.snapshot_id, created_at: first?.created_at },
      retained: [{ release_id: '2.0' }],
    });
    expect(world.upstream.opened).toEqual(['c']);
  });

  test('a name whose release was deleted is not given to other bytes', async () => {
    const world = await createSyncedWorld();
    for (const id of ['2.0', '3.0']) {
      world.upstream.releaseId = id;
      world.upstream.files.set('a', id);
      await world.act('sync');
    }
    expect((await world.act('release-cleanup', { id: '1.0', force: true })).status).toBe('succeeded');
    world.upstream.releaseId = '1.0';
    world.upstream.files.set('a', 'not what it was');
    expect((await world.act('sync')).result).toMatchObject({ release_id: '1.0-2' });
    world.upstream.files.set('a', 'one');
    expect((await world.act('sync')).result).toMatchObject({ release_id: '1.0' });
  });
});

test('destinations that differ only in case are synced, with a warning', async () => {
  const world = await createSyncedWorld({ 'A.txt': 'x', 'a.txt': 'y' });
  const task = world.engine.list(1)[0];
  const warnings = world.engine.logs(task!.task_id)?.lines.filter((line) => line.level === 'warn');
  expect(warnings).toEqual([expect.objectContaining({ fields: { destinations: 'A.txt, a.txt' } })]);
});

test('a sync that upstream asks to wait says so once, although all its downloads wait', async () => {
  const world = await createWorld({ downloadAttempts: 2 });
  world.upstream.files = new Map([
    ['a', 'one'],
    ['b', 'two'],
  ]);
  const refused = new Set<string>();
  world.upstream.onOpen = (destination) => {
    if (refused.has(destination)) return;
    refused.add(destination);
    throw new UpstreamError('upstream_throttled', 'busy', { retryable: true, retryAfterMs: 20_000 });
  };
  const startedAt = world.clock.now();
  const { task } = await act(world.actions, 'sync');
  const warnings = (): readonly unknown[] =>
    world.engine.logs(task.task_id)?.lines.filter(({ level }) => level === 'warn') ?? [];
  await until(() => refused.size === 2 && warnings().length > 0);
  expect(warnings()).toEqual([
    expect.objectContaining({
      message: `upstream is asked again at ${instant(startedAt / 1000 + 20)}: busy`,
      fields: { wait_ms: 20_000 },
    }),
  ]);
  const doctor = world.releases.diagnostics().find(({ id }) => id === 'sync');
  expect(doctor?.message).toBe(`a sync waits for upstream until ${instant(startedAt / 1000 + 20)}: busy`);
  const done = ended(world.engine, task.task_id);
  await until(async () => {
    await world.clock.advance(20_000);
    return world.engine.get(task.task_id)?.finished_at !== null;
  });
  expect((await done).status).toBe('succeeded');
});

test('the app version travels in the manifest, the server-info document beside it', async () => {
  const world = await createSyncedWorld();
  const row = world.releases.repository.current('official');
  expect(row).toMatchObject({ app_version: '1.0.0', server_info_size: 23 });
  world.upstream.appVersion = '1.0.1';
  expect((await world.act('sync')).result).toMatchObject({ release_id: '1.0-2' });
});

describe('a sync of an unchanged upstream', () => {
  test.each<[string, (world: World) => Promise<void>]>([
    ['a missing manifest', async (world) => await rm(join(world.root, 'manifests'), { recursive: true })],
    ['missing objects', async (world) => await rm(join(world.root, 'objects'), { recursive: true })],
    ['a missing release record', async (world) => await rm(join(world.root, 'releases/official/1.0.json'))],
  ])('repairs %s instead of answering "unchanged"', async (_name, lose) => {
    const world = await createSyncedWorld();
    await lose(world);
    const task = await world.act('sync');
    expect(task).toMatchObject({ status: 'succeeded', result: { unchanged: false } });
    expect(world.attested().official?.result).toBe('PASSED');
    expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });
    expect((await world.act('sync')).result).toMatchObject({ unchanged: true });
  });

  test('fails with a code when upstream does not have the missing bytes', async () => {
    const world = await createSyncedWorld();
    await world.damage('two', null);
    world.upstream.sent.set('b', null);
    expect(await world.act('sync')).toMatchObject({ status: 'failed', failure_code: 'upstream_not_found' });
    expect(world.attested().official).toMatchObject({
      result: 'FAILED',
      failure: { reason: 'EntryMissing', examples: ['b'] },
    });
  });

  test('reports both failures when the catalog cannot be fetched and the damage cannot be attested', async () => {
    const world = await createSyncedWorld();
    await world.damage('one', null);
    world.script.failAt = 'release.attestation.signed';
    world.upstream.failure = new UpstreamError('upstream_unreachable', 'connection refused');
    const task = await world.act('sync');
    expect(task).toMatchObject({ status: 'failed', failure_code: 'upstream_unreachable' });
    const message = 'the check of the current release failed as well: stopped at release.attestation.signed';
    expect(world.engine.logs(task.task_id)?.lines).toContainEqual(
      expect.objectContaining({ level: 'error', message }),
    );
  });

  test('withdraws nothing when the volume is not there', async () => {
    const world = await createSyncedWorld();
    await rename(world.root, `${world.root}-away`);
    expect(await world.act('sync')).toMatchObject({ status: 'failed', failure_code: 'store_unavailable' });
    expect(await world.act('verify')).toMatchObject({ status: 'failed', failure_code: 'store_unavailable' });
    expect(world.row('1.0')).toBe('current');
    await rename(`${world.root}-away`, world.root);
    expect((await world.act('sync')).result).toMatchObject({ unchanged: true });
  });
});
