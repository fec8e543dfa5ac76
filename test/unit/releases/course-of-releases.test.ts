import process from 'node:process';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { scheduleIntervals } from '../../../src/daemon/settings/module-settings.ts';
import { createSchedules } from '../../../src/engine/schedules/schedules.ts';
import { daemonConfigurationSchema } from '../../../src/daemon/settings/config.ts';
import { noFailpoints } from '../../../src/platform/files/failpoints.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { isLong } from '../../support/long.ts';
import { createWorld, DAY } from '../../support/release-world.ts';
import { askReport } from '../../support/reports.ts';

describe('the course of releases', () => {
  test('day by day: synced, damaged, repaired, replaced, retained, expired, cleaned up', async () => {
    const world = await createWorld({
      retention: { retained: 0, maxAgeSeconds: 7 * 86_400, keep: 2, graceSeconds: 86_400 },
    });
    const { clock, upstream } = world;
    const large = Buffer.alloc(2_500_000, 7);
    expect(world.attested()).toMatchObject({ version: 1, official: null, localized: null, retained: [] });

    // Day 0: the first release.
    upstream.files = new Map<string, string | Buffer>([
      ['b/large.bundle', large],
      ['a.json', '{"a":1}'],
      ['a/copy.json', '{"a":1}'],
      ['empty', ''],
    ]);
    const first = await world.act('sync');
    expect(first).toMatchObject({
      status: 'succeeded',
      result: {
        unchanged: false,
        release_id: '1.0',
        previous_release_id: null,
        entry_count: 4,
        total_bytes: large.length + 14,
        attestation_version: 2,
      },
    });
    const snapshot = String(first.result?.['snapshot_id']);
    expect(world.attested()).toMatchObject({
      official: { release_id: '1.0', snapshot_id: snapshot, result: 'PASSED', verification: 'full' },
    });
    expect(await world.onVolume()).toEqual(world.attested());
    const entries = await world.contents(snapshot);
    expect([...entries.keys()]).toEqual(['a.json', 'a/copy.json', 'b/large.bundle', 'empty']);
    expect(entries.get('b/large.bundle')).toMatchObject({
      size: large.length,
      media_type: 'application/octet-stream',
    });
    expect(entries.get('b/large.bundle')?.blocks).toMatch(/^[0-9a-f]{64}$/);
    expect(entries.get('a.json')?.media_type).toBe('application/json');

    // Nothing changed upstream: only a new attestation.
    upstream.opened.length = 0;
    const again = await world.act('sync');
    expect(again.result).toEqual({ unchanged: true, release_id: '1.0', attestation_version: 3 });
    expect(upstream.opened).toEqual([]);

    // Day 1: an object rots; verification finds it and the release is withdrawn immediately.
    await clock.skip(DAY);
    await world.damage(large, 'rotten');
    const found = await world.act('verify');
    expect(found).toMatchObject({
      status: 'failed',
      failure_code: 'damage_found',
      result: { damaged: 1, releases: [{ release_id: '1.0', damaged: 1 }] },
    });
    expect(world.attested().official).toMatchObject({ release_id: '1.0', result: 'FAILED' });
    expect(world.row('1.0')).toBe('damaged');
    const status = await askReport(world.releases.reports, 'release.status');
    expect(status).toMatchObject({
      official: { release_id: '1.0', integrity: 'damaged', damaged: ['b/large.bundle'], damaged_count: 1 },
      relation: 'no_localized',
      attestation: { authorizes: { official: null }, key_ids: [expect.stringMatching(/^[0-9a-f]+$/)] },
      upstream: { kind: expect.any(String), label: expect.any(String) },
    });

    upstream.opened.length = 0;
    const repaired = await world.act('repair');
    expect(repaired).toMatchObject({
      status: 'succeeded',
      result: { releases: [{ release_id: '1.0', repaired: 1 }] },
    });
    expect(upstream.opened).toEqual(['b/large.bundle']);
    expect(world.attested().official).toMatchObject({
      release_id: '1.0',
      snapshot_id: snapshot,
      result: 'PASSED',
    });
    expect(world.row('1.0')).toBe('current');
    expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });

    // Day 2: a new release shares most of its objects with the old one, which stays reachable.
    await clock.skip(DAY);
    upstream.releaseId = '2.0';
    upstream.files.set('a.json', '{"a":2}');
    upstream.files.delete('empty');
    upstream.opened.length = 0;
    expect((await world.act('catalog-refresh')).result).toMatchObject({
      release_id: '2.0',
      added: 0,
      changed: 1,
      removed: 1,
      bytes: 7,
    });
    const second = await world.act('sync');
    expect(second.result).toMatchObject({ release_id: '2.0', previous_release_id: '1.0', reused_entries: 2 });
    expect(upstream.opened).toEqual(['a.json']);
    const switchedAt = world.attested().issued_at;
    expect(world.attested()).toMatchObject({
      official: { release_id: '2.0', result: 'PASSED' },
      retained: [{ release_id: '1.0', channel: 'official', retained_until: switchedAt + 7 * 86_400 }],
    });
    expect(await world.contents(snapshot)).toHaveLength(4);

    // Day 9: it has expired, and a cleanup may delete it. The previous release always stays.
    await clock.skip(3 * DAY);
    await world.act('verify', { force: true });
    await clock.skip(4 * DAY);
    expect((await world.act('refresh')).status).toBe('succeeded');
    expect(world.attested().retained).toEqual([]);
    upstream.releaseId = '3.0';
    upstream.files.set('new.txt', 'new');
    expect((await world.act('sync')).status).toBe('succeeded');
    const dry = await world.act('release-cleanup', { count: 1n, args: ['dry_run=true'] });
    expect(dry.result).toMatchObject({ dry_run: true, deleted: ['1.0'] });
    expect(world.row('1.0')).toBe('superseded');
    const cleaned = await world.act('release-cleanup', { count: 1n, force: true });
    expect(cleaned.result).toMatchObject({
      deleted: ['1.0'],
      kept: expect.arrayContaining([
        { channel: 'official', release_id: '3.0', why: 'current' },
        { channel: 'official', release_id: '2.0', why: 'previous' },
      ]) as unknown,
    });
    expect(cleaned.result?.['removed_objects']).toBeGreaterThanOrEqual(1);
    expect(world.row('1.0')).toBe('deleted');
    await expect(world.contents(snapshot)).rejects.toThrow(/manifest/);
    expect((await world.act('verify', { force: true })).result).toMatchObject({ damaged: 0 });
  });
});

const HOUR = 3_600_000;
const DAYS = 9;
/** Between two looks of the renewal at the clock. */
const CLOCK_STEP_MS = 2000;

/** Whether this process waits for the end of an access to a file. */
const isAccessingFiles = (): boolean =>
  process.getActiveResourcesInfo().some((kind) => kind.startsWith('FSReq'));

describe('releases that nobody attends', () => {
  test(`a release is still attested after ${DAYS} days in which nobody asks for anything`, async () => {
    const world = await createWorld();
    const { engine, database, clock } = world;
    world.upstream.files.set('a', 'a');
    expect((await world.act('sync')).status).toBe('succeeded');
    const schedules = createSchedules({
      database,
      engine,
      clock,
      random: () => 0.5,
      logger: createSilentLogger(),
      failpoints: noFailpoints,
      createId: () => 'unused',
    });
    onTestFinished(async () => await schedules.stop());
    const defaults = daemonConfigurationSchema.parse({
      snapshot: { root: '/srv/snapshot' },
      data: { dir: '/var/lib/slipway' },
      attestation: { signingKeyFiles: ['/etc/slipway/signing.key'] },
      upstream: { kind: 'directory', directory: { path: '/srv/upstream' } },
    });
    schedules.configure(scheduleIntervals(defaults));
    schedules.start();
    // The clock stands still while tasks and writes are in progress: otherwise an hour can pass during one write to a busy disk.
    const advance = async (ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= CLOCK_STEP_MS) {
        await clock.advance(CLOCK_STEP_MS);
        while (isAccessingFiles() || engine.counts().queued + engine.counts().running > 0) await nextTurn();
      }
    };
    for (let hours = 0; hours < DAYS * 24; hours += 12) {
      if (hours === 96) world.upstream.releaseId = '2.0';
      // Each wake-up of a loop in the nine days takes 15 seconds of processor time: most of them only in the long campaign.
      if (!isLong) await clock.skip(11 * HOUR);
      await advance(isLong ? 12 * HOUR : HOUR);
      // Nothing is attested without a recent verification: the last statement then expires.
      expect(world.attested().expires_at).toBeGreaterThan(clock.now() / 1000);
      expect(world.attested().official).toMatchObject({ result: 'PASSED' });
    }
    expect(world.attested().official?.release_id).toBe('2.0');
  });
});
