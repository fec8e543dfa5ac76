import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  planCleanup,
  RETAINED_MAX_OF_CHANNEL,
  selectRetained,
  type CleanupRequest,
  type RetentionLimits,
} from '../../../src/releases/records/retention-rules.ts';
import type { ReleaseId } from '../../../src/domain/release/release-id.ts';
import type { AttestedRelease } from '../../../src/domain/verdict/attestation.ts';
import { act } from '../../support/actions.ts';
import { pointers, releaseRow } from '../../support/release-row-fixture.ts';
import { createWorld, DAY, type World } from '../../support/release-world.ts';
import { askReport } from '../../support/reports.ts';

/** A world with releases 1.0 to `count`.0, a day apart. */
async function withReleases(count: number, change: Parameters<typeof createWorld>[0] = {}): Promise<World> {
  const world = await createWorld({
    ...change,
    retention: { retained: 2, maxAgeSeconds: 0, keep: 2, graceSeconds: 86_400 },
  });
  for (let number = 1; number <= count; number += 1) {
    world.upstream.releaseId = `${number}.0`;
    world.upstream.files = new Map([
      ['shared', 'shared'],
      ['own', `only in ${number}`],
    ]);
    expect((await world.act('sync')).status).toBe('succeeded');
    await world.clock.skip(DAY);
  }
  await world.act('verify', { force: true });
  return world;
}

async function refused(world: World, action: string, body: Record<string, unknown>): Promise<unknown> {
  try {
    await act(world.releases.actions, action, body);
    return null;
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
}

describe('cleanups and actions', () => {
  describe('release-cleanup', () => {
    test('releases in use stay, unless forced; then they leave the attestation first', async () => {
      const world = await withReleases(4);
      expect(world.attested().retained.map((release) => release.release_id)).toEqual(['3.0', '2.0']);
      const gentle = await world.act('release-cleanup', { count: 1n });
      expect(gentle.result).toMatchObject({ deleted: ['1.0'] });
      const forced = await world.act('release-cleanup', { count: 1n, force: true });
      expect(forced.result).toMatchObject({ deleted: ['2.0'] });
      expect(world.attested().retained.map((release) => release.release_id)).toEqual(['3.0']);
      expect(await readdir(join(world.root, 'releases/official'))).toEqual(['3.0.json', '4.0.json']);
      expect(await readdir(join(world.root, 'manifests'))).toHaveLength(2);
      expect((await world.act('verify', { force: true })).result).toMatchObject({ damaged: 0 });
    });

    test('a busy day: every release of the last week is kept beside the counted ones', async () => {
      const world = await createWorld();
      for (const releaseId of ['1.0', '1.0_2', '1.0_3', '2.0', '2.0_2']) {
        world.upstream.releaseId = releaseId;
        world.upstream.files.set('own', `only in ${releaseId}`);
        expect((await world.act('sync')).status).toBe('succeeded');
        await world.clock.skip(3_600_000);
      }
      expect(world.attested().retained.map((release) => release.release_id)).toEqual([
        '2.0',
        '1.0_3',
        '1.0_2',
        '1.0',
      ]);
      expect((await world.act('release-cleanup', { count: 1n })).result).toMatchObject({ deleted: [] });
    });

    test('keeps quarantined objects for a while, unless forced', async () => {
      const world = await withReleases(1);
      await world.damage('shared', 'bad');
      await world.act('verify');
      await world.act('repair');
      const quarantined = async (): Promise<number> => (await readdir(join(world.root, 'quarantine'))).length;
      expect(await quarantined()).toBe(1);
      expect((await world.act('release-cleanup', { args: ['dry_run=true'], force: true })).status).toBe(
        'succeeded',
      );
      expect((await world.act('release-cleanup')).result).toMatchObject({ removed_quarantined: 0 });
      expect(await quarantined()).toBe(1);
      const forced = await world.act('release-cleanup', { force: true });
      expect(forced.result).toMatchObject({ removed_quarantined: 1, freed_bytes: 3 });
      expect(await quarantined()).toBe(0);
    });

    test('has a forecast: the bytes that it frees, those that it keeps, and those of the current release', async () => {
      const world = await withReleases(4);
      await world.damage('shared', 'bad');
      await world.act('verify');
      await world.act('repair');
      const first = await world.releases.storage.read();
      // 'shared' and the server-info document are one object of all four releases; only 1.0 is beyond the limits.
      const document = world.attested().official?.server_info?.size ?? 0;
      expect(first).toMatchObject({
        currentBytes: document + 'shared'.length + 'only in 4'.length,
        retainedBytes: 2 * 'only in 3'.length,
        reclaimableBytes: 'only in 1'.length,
        quarantineBytes: 'bad'.length,
      });
      expect(first?.totalBytes).toBeGreaterThan(first?.freeBytes ?? Infinity);
      await world.act('release-cleanup', { force: true, count: 1n });
      expect(await world.releases.storage.read()).toBe(first);
      await world.clock.advance(60_000);
      expect(await world.releases.storage.read()).toMatchObject({
        retainedBytes: 'only in 3'.length,
        reclaimableBytes: 0,
        quarantineBytes: 0,
      });
    });

    test('gives an earlier forecast for ten minutes when none can be made, and tries once a minute', async () => {
      const world = await withReleases(1);
      const { storage } = world.releases;
      const quarantine = join(world.root, 'quarantine');
      const first = await storage.read();
      await rename(quarantine, `${quarantine}.away`);
      await world.clock.advance(60_000);
      expect(await storage.read()).toBe(first);
      await rename(`${quarantine}.away`, quarantine);
      await world.clock.advance(59_000);
      expect(await storage.read()).toBe(first);
      await world.clock.advance(1000);
      expect(await storage.read()).not.toBe(first);
      await rename(quarantine, `${quarantine}.away`);
      await world.clock.advance(599_000);
      expect(await storage.read()).not.toBeNull();
      await world.clock.advance(1000);
      expect(await storage.read()).toBeNull();
    });

    test('refuses protected and unknown releases immediately', async () => {
      const world = await withReleases(3);
      expect(await refused(world, 'release-cleanup', { id: '3.0' })).toBe('release_protected');
      expect(await refused(world, 'release-cleanup', { id: '2.0', force: true })).toBe('release_protected');
      expect(await refused(world, 'release-cleanup', { id: '1.0' })).toBe('release_protected');
      await expect(act(world.releases.actions, 'release-cleanup', { id: '1.0' })).rejects.toThrow(
        /; to delete it anyway: slipway ctl run release-cleanup id=1\.0 force=true$/,
      );
      expect(await refused(world, 'release-cleanup', { id: '9.0' })).toBe('unknown_release');
      expect(await refused(world, 'release-cleanup', { localized_release_id: '1.0' })).toBe(
        'unknown_release',
      );
      expect((await world.act('release-cleanup', { id: '1.0', force: true })).result).toMatchObject({
        deleted: ['1.0'],
      });
      expect(await refused(world, 'release-cleanup', { id: '1.0' })).toBe('unknown_release');
    });

    test('abandoned staging directories are removed', async () => {
      const world = await withReleases(1);
      await mkdir(join(world.root, 'tmp/01DEADTASK/deep'), { recursive: true });
      await mkdir(join(world.root, 'tmp/sync-0123'), { recursive: true });
      expect((await world.act('release-cleanup')).result).toMatchObject({ removed_staging: 2, deleted: [] });
      expect(await readdir(join(world.root, 'tmp'))).toEqual([]);
    });

    test('nothing is deleted while it cannot be withdrawn', async () => {
      const world = await withReleases(4);
      world.script.broken.set('publishAttestation', Object.assign(new Error('no'), { code: 'EROFS' }));
      expect(await world.act('release-cleanup', { count: 1n, force: true })).toMatchObject({
        failure_code: 'read_only',
      });
      expect(await readdir(join(world.root, 'releases/official'))).toHaveLength(4);
      // The next cleanup has no release left to delete.
      expect(await world.act('release-cleanup')).toMatchObject({ failure_code: 'read_only' });
      expect(await readdir(join(world.root, 'releases/official'))).toHaveLength(4);
      expect(await readdir(join(world.root, 'manifests'))).toHaveLength(4);
      expect((await world.onVolume())?.retained.map((release) => release.release_id)).toEqual(['3.0', '2.0']);
      world.script.broken.clear();
      expect((await world.act('release-cleanup')).status).toBe('succeeded');
      expect(await readdir(join(world.root, 'releases/official'))).toEqual(['3.0.json', '4.0.json']);
    });
  });

  describe('release-cleanup after a restart', () => {
    test('deletes nothing that servers may serve by the attestation of the earlier process', async () => {
      const world = await withReleases(4, { maxVerifyAgeSeconds: 300 });
      await world.clock.advance(301_000);
      await world.restart();
      expect(world.releases.attestation.current()).toBeNull();
      expect((await world.onVolume())?.retained.map((release) => release.release_id)).toEqual(['3.0', '2.0']);
      expect(await world.act('release-cleanup', { count: 1n, force: true })).toMatchObject({
        failure_code: 'not_attestable',
      });
      expect(await readdir(join(world.root, 'releases/official'))).toHaveLength(4);
      expect(await readdir(join(world.root, 'manifests'))).toHaveLength(4);
      // No server serves by it any longer.
      await world.clock.advance(600_000);
      expect((await world.act('release-cleanup')).status).toBe('succeeded');
      expect(await readdir(join(world.root, 'releases/official'))).toEqual(['3.0.json', '4.0.json']);
    });
  });

  describe('actions', () => {
    test('an equal task that waits or runs is returned instead of a new one', async () => {
      const world = await withReleases(1);
      const first = await act(world.releases.actions, 'sync');
      const second = await act(world.releases.actions, 'sync', { args: [] });
      expect(second).toMatchObject({ deduplicated: true, task: { task_id: first.task.task_id } });
    });

    test('refuse impossible requests', async () => {
      const world = await withReleases(1);
      expect(await refused(world, 'verify', { args: ['release_id=9.0'] })).toBe('unknown_release');
      expect(await refused(world, 'repair', { args: ['channel=localized', 'release_id=1.0'] })).toBe(
        'unknown_release',
      );
      const alone = await createWorld({ withUpstream: false });
      expect(await refused(alone, 'sync', {})).toBe('upstream_not_configured');
      expect(await refused(alone, 'catalog-refresh', {})).toBe('upstream_not_configured');
      expect((await alone.act('refresh')).status).toBe('succeeded');
    });

    test('refresh is refused while another task has exclusive use of the store', async () => {
      const world = await withReleases(1);
      await world.damage('shared', null);
      let answer: Promise<unknown> = Promise.resolve('not asked');
      world.upstream.onOpen = () => {
        world.upstream.onOpen = () => undefined;
        answer = refused(world, 'refresh', {});
      };
      expect((await world.act('repair')).status).toBe('succeeded');
      expect(await answer).toBe('store_locked');
    });

    test('one release of a channel is verified when it is named', async () => {
      const world = await withReleases(2);
      const task = await world.act('verify', { args: ['channel=official', 'release_id=1.0'] });
      expect(task.result).toEqual({
        damaged: 0,
        releases: [{ channel: 'official', release_id: '1.0', entries: 2, damaged: 0, damaged_entries: [] }],
      });
    });
  });

  test('a cancelled sync leaves the served release and the fetched bytes', async () => {
    const world = await withReleases(1);
    world.upstream.releaseId = '2.0';
    world.upstream.files.set('own', 'only in 2');
    world.upstream.onOpen = () => {
      const running = world.engine.list(10).find((task) => task.status === 'running');
      world.engine.cancel(running!.task_id, 'enough');
    };
    expect(await world.act('sync')).toMatchObject({ status: 'cancelled' });
    expect(world.attested().official?.release_id).toBe('1.0');
  });

  describe('a localized release', () => {
    /** Publishes the official release unchanged as a localized one, as the localized rooms do with changed entries. */
    async function publishLocalized(world: World): Promise<AttestedRelease | null> {
      const { releases } = world;
      const official = releases.repository.current('official')!;
      const copy = await releases.catalogs.copy(releases.catalogs.get(official.revision_id!)!, 'task', false);
      const context = {
        taskId: 'localized-task',
        kind: 'localized-publish',
        args: {},
        reviewer: null,
        reason: null,
        attempt: 1,
        signal: new AbortController().signal,
        log: () => undefined,
        progress: () => undefined,
        commit: async <T>(section: () => Promise<T>) => await section(),
      };
      const release = await releases.publisher.register(
        {
          channel: 'localized',
          releaseId: `${official.release_id}-l1` as typeof official.release_id,
          upstreamReleaseId: official.release_id,
          baseReleaseId: official.release_id,
          revisionId: copy.revision_id,
          content: {
            digest: official.content_digest!,
            entryCount: official.entry_count,
            totalBytes: official.total_bytes,
          },
          serverInfo: null,
          appVersion: null,
          excludedCount: 0,
        },
        context,
      );
      await releases.publisher.makeCurrent(release, context);
      return world.attested().localized;
    }

    test('is withdrawn and retained when its base is replaced, and restored with its base', async () => {
      const world = await withReleases(1);
      expect(await publishLocalized(world)).toMatchObject({
        release_id: '1.0-l1',
        base_release_id: '1.0',
        result: 'PASSED',
      });
      const status = (): Promise<unknown> => askReport(world.releases.reports, 'release.status');
      expect(await status()).toMatchObject({ relation: 'in_sync', localized: { release_id: '1.0-l1' } });
      world.upstream.releaseId = '2.0';
      world.upstream.files.set('own', 'only in 2');
      await world.act('sync');
      expect(world.attested()).toMatchObject({
        official: { release_id: '2.0' },
        localized: null,
        retained: [
          { release_id: '1.0', channel: 'official' },
          { release_id: '1.0-l1', channel: 'localized' },
        ],
      });
      expect(await status()).toMatchObject({ relation: 'stale' });
      expect(await refused(world, 'release-cleanup', { id: '1.0', force: true })).toBe('release_protected');
      world.upstream.releaseId = '1.0';
      world.upstream.files.set('own', 'only in 1');
      await world.act('sync');
      expect(world.attested()).toMatchObject({
        official: { release_id: '1.0' },
        localized: { release_id: '1.0-l1', result: 'PASSED' },
      });
    });

    test('is listed with its base', async () => {
      const world = await withReleases(1);
      await publishLocalized(world);
      const { reports } = world.releases;
      expect(await askReport(reports, 'release.list', { channel: 'localized' })).toMatchObject({
        total: 1,
        releases: [
          {
            release_id: '1.0-l1',
            channel: 'localized',
            state: 'current',
            base_release_id: '1.0',
            manifest: { entry_count: 2 },
            artifact_integrity: { ok: true, damaged: 0 },
          },
        ],
      });
      expect(await askReport(reports, 'release.list')).toMatchObject({ total: 2 });
    });
  });
});

const LIMITS = { retained: 2, maxAgeSeconds: 100 };

describe('the rules of retention', () => {
  const DAY = 86_400;

  describe('selectRetained', () => {
    const selected = (
      limits: RetentionLimits,
      supersededAt: readonly number[],
      now: number,
    ): readonly [string, number][] => {
      const earlier = supersededAt.map((at) => releaseRow(`r-${at}`, { superseded_at: at }));
      const releases = [releaseRow('now', { state: 'current' }), ...earlier];
      return selectRetained({ releases, announced: [], pointers: pointers('now') }, limits, now).map(
        ({ release, until }) => [release.release_id, until],
      );
    };

    test('keeps the latest superseded releases, however old they are', () => {
      expect(selected(LIMITS, [900, 880, 890, 700], 1_000_000)).toEqual([
        ['r-900', 1_000_000 + DAY],
        ['r-890', 1_000_000 + DAY],
      ]);
    });

    test('keeps every release of the last hours beside them, so that early clients of a busy day can finish', () => {
      expect(selected(LIMITS, [1000, 990, 980, 970, 899], 999).map(([id]) => id)).toEqual([
        'r-1000',
        'r-990',
        'r-980',
        'r-970',
      ]);
    });

    test('ends at the age, to the second', () => {
      const byTime = { retained: 0, maxAgeSeconds: 100 };
      expect(selected(byTime, [1000], 1099)).toEqual([['r-1000', 1100]]);
      expect(selected(byTime, [1000], 1100)).toEqual([]);
    });

    test('promises a counted release beyond the end of every attestation, also in the last second of its time', () => {
      expect(selected(LIMITS, [1000], 1099)).toEqual([['r-1000', 1099 + DAY]]);
    });

    test('keeps no more than fit into a statement', () => {
      const busy = Array.from({ length: 40 }, (_, order) => 1000 + order);
      const kept = selected({ retained: 2, maxAgeSeconds: 1000 }, busy, 1050);
      expect(kept).toHaveLength(RETAINED_MAX_OF_CHANNEL);
      expect(kept[0]?.[0]).toBe('r-1039');
      expect(kept.at(-1)?.[0]).toBe('r-1024');
    });

    test.each([
      ['damaged', { state: 'damaged' as const }],
      ['deleted', { state: 'deleted' as const }],
      ['never published', { published_at: null }],
    ])('never offers a %s release', (_, change) => {
      const releases = [
        releaseRow('2', { state: 'current' }),
        releaseRow('1', { superseded_at: 1000, ...change }),
      ];
      expect(selectRetained({ releases, announced: [], pointers: pointers('2') }, LIMITS, 1000)).toEqual([]);
    });

    test('a localized release is retained from the moment its base was replaced', () => {
      const releases = [
        releaseRow('2', { state: 'current' }),
        releaseRow('1-l1', { channel: 'localized', state: 'current', stale_since: 1000 }),
      ];
      const retained = selectRetained(
        { releases, announced: [], pointers: pointers('2', '1-l1') },
        LIMITS,
        1050,
      );
      expect(retained.map(({ release }) => release.release_id)).toEqual(['1-l1']);
    });
  });

  describe('planCleanup', () => {
    const releases = [
      releaseRow('6', { state: 'current' }),
      releaseRow('5', { superseded_at: 1005 }),
      releaseRow('4', { superseded_at: 1004 }),
      releaseRow('3', { superseded_at: 1003, pinned: true }),
      releaseRow('2', { superseded_at: 1002 }),
      releaseRow('1', { superseded_at: 1001 }),
      releaseRow('2-l1', {
        channel: 'localized',
        state: 'current',
        base_release_id: '2' as ReleaseId,
        stale_since: 1,
      }),
      releaseRow('0', { state: 'deleted' }),
    ];
    const situation = { releases, announced: [], pointers: pointers('6', '2-l1') };
    const plan = (request: Partial<CleanupRequest>): { remove: string[]; keep: Record<string, string> } => {
      const made = planCleanup(situation, [], { count: 1, only: null, force: false, ...request });
      return {
        remove: made.remove.map((release) => release.release_id),
        keep: Object.fromEntries(made.keep.map(({ release, why }) => [release.release_id, why])),
      };
    };

    test('protects current, previous, pinned and bases for any count', () => {
      expect(plan({ count: 1 })).toEqual({
        remove: ['4', '1'],
        keep: { '6': 'current', '5': 'previous', '3': 'pinned', '2': 'base_of_localized', '2-l1': 'current' },
      });
    });

    test('keeps the requested number', () => {
      expect(plan({ count: 3 }).remove).toEqual(['1']);
      expect(plan({ count: 3 }).keep['4']).toBe('newest');
      expect(plan({ count: 9 }).remove).toEqual([]);
    });

    test('deletes exactly the named release', () => {
      expect(plan({ only: [{ channel: 'official', releaseId: '1' }] }).remove).toEqual(['1']);
      expect(plan({ only: [{ channel: 'official', releaseId: '2' }] }).remove).toEqual([]);
      expect(plan({ only: [{ channel: 'official', releaseId: '6' }] }).remove).toEqual([]);
    });

    test('releases that clients may still download are deleted only by force', () => {
      const retained = [{ release: releases[5]!, until: 2000 }];
      const request = { count: 1, only: null };
      expect(planCleanup(situation, retained, { ...request, force: false }).remove).toEqual([releases[2]]);
      expect(planCleanup(situation, retained, { ...request, force: true }).remove).toEqual([
        releases[2],
        releases[5],
      ]);
    });
  });
});
