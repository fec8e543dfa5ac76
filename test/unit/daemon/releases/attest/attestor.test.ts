import { describe, expect, test } from 'vitest';
import { until } from '../../../../support/until.ts';
import { createWorld, DAY, type World } from '../release-world.ts';

const never = new AbortController().signal;

async function synced(): Promise<World> {
  const world = await createWorld();
  world.upstream.files = new Map([['a', 'one']]);
  expect((await world.act('sync')).status).toBe('succeeded');
  return world;
}

describe('renewal', () => {
  test('happens at a third of the validity, and changes only the times', async () => {
    const world = await synced();
    const before = world.attested();
    expect(before.expires_at - before.issued_at).toBe(600);
    await world.clock.advance(199_000);
    expect(world.attested().version).toBe(before.version);
    await world.clock.advance(1000);
    await until(() => world.attested().version > before.version);
    expect(world.attested()).toMatchObject({
      version: before.version + 1,
      issued_at: before.issued_at + 200,
      expires_at: before.expires_at + 200,
      official: before.official,
    });
    expect(world.attested().previous_payload_sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  test.each([
    ['back', -3600],
    ['forward', 3600],
  ])('happens immediately when the wall clock is set %s', async (_, seconds) => {
    const world = await synced();
    for (let round = 0; round < 2; round += 1) {
      const before = world.attested();
      world.clock.jumpTo(world.clock.now() + seconds * 1000);
      await world.clock.advance(2000);
      await until(() => world.attested().version > before.version);
      const { issued_at, expires_at } = world.attested();
      expect(expires_at - issued_at).toBe(600);
      expect(Math.abs(issued_at - world.clock.now() / 1000)).toBeLessThan(3);
    }
    const { version } = world.attested();
    await world.clock.advance(190_000);
    expect(world.attested().version).toBe(version);
    await world.clock.advance(10_000);
    await until(() => world.attested().version === version + 1);
  });

  const told = (world: World) =>
    Object.fromEntries(
      world.releases.diagnostics().map(({ id, status, message }) => [id, [status, message]]),
    );
  const future = ['degraded', expect.stringContaining('dated in the future') as unknown];

  test('continues when the wall clock is set back: the age of the verification is known', async () => {
    const world = await synced();
    const before = world.attested();
    world.clock.jumpTo(world.clock.now() - 3_600_000);
    expect(told(world)).toMatchObject({ verification: future, sync: future });
    // The next look at the clock renews the attestation.
    await world.clock.advance(2000);
    await until(() => world.attested().version > before.version);
    expect(told(world)['verification']?.[0]).toBe('ok');
    expect(world.attested().issued_at * 1000).toBeLessThanOrEqual(world.clock.now());
    expect(world.attested().official?.verified_at).toBe(before.official!.verified_at - 3600);
    expect(world.engine.historyOf('verify').last).toBeNull();
  });

  test('repeats a verification that a clock that was ahead has dated, which counts for nothing until then', async () => {
    const world = await synced();
    const inAnHour = Math.floor(world.clock.now() / 1000) + 3600;
    world.releases.repository.update('official', '1.0', { verified_at: inAnHour });
    expect(told(world)).toMatchObject({ verification: future });
    // The next renewal queues the verification that it needs.
    await world.clock.advance(200_000);
    await until(() => told(world)['verification']?.[0] === 'ok' && told(world)['attestation']?.[0] === 'ok');
    expect(world.engine.historyOf('verify').last?.status).toBe('succeeded');
    expect(world.attested().official?.verified_at ?? Infinity).toBeLessThanOrEqual(world.clock.now() / 1000);
  });

  test('does not need the volume: the envelope on it lags, and the doctor says why', async () => {
    const world = await synced();
    const before = world.attested();
    const attestation = () => world.releases.diagnostics().find((check) => check.id === 'attestation');
    world.script.broken.set('publishAttestation', Object.assign(new Error('no'), { code: 'EROFS' }));
    await world.clock.advance(200_000);
    await until(() => world.attested().version > before.version);
    expect(world.attested()).toMatchObject({
      version: before.version + 1,
      issued_at: before.issued_at + 200,
      official: before.official,
    });
    expect((await world.onVolume())?.version).toBe(before.version);
    expect(attestation()).toEqual({
      id: 'attestation',
      status: 'degraded',
      message: expect.stringMatching(
        new RegExp(`the envelope on the volume is version ${before.version} and lags: read_only `),
      ) as unknown,
    });
    world.script.broken.clear();
    // The attempts to store it write real files, during which no time passes here.
    await until(async () => {
      await world.clock.advance(2000);
      return attestation()?.status === 'ok';
    });
    await world.clock.advance(200_000);
    await until(() => world.attested().version > before.version + 1);
    expect(await world.onVolume()).toEqual(world.attested());
    expect(attestation()?.status).toBe('ok');
  });

  test('ends a finding soon after the volume takes writes again, without another version', async () => {
    const world = await synced();
    const before = world.attested();
    const statusNow = () => world.releases.diagnostics().find((check) => check.id === 'attestation')?.status;
    world.script.broken.set('publishAttestation', Object.assign(new Error('no'), { code: 'EROFS' }));
    await world.clock.advance(200_000);
    await until(() => statusNow() === 'degraded');
    await world.clock.advance(10_000);
    expect(world.attested().version).toBe(before.version + 1);
    world.script.broken.clear();
    await world.clock.advance(2000);
    await until(() => statusNow() === 'ok');
    expect((await world.onVolume())?.version).toBe(before.version + 1);
    expect(world.releases.attestor.volumeError()).toBe(null);
  });

  test('ends a finding of a switch that could not be written soon after the volume takes writes again', async () => {
    const world = await synced();
    const statusNow = () => world.releases.diagnostics().find((check) => check.id === 'attestation')?.status;
    world.upstream.releaseId = '2.0';
    world.upstream.files.set('a', 'two');
    world.script.broken.set('publishAttestation', Object.assign(new Error('no'), { code: 'ENOSPC' }));
    expect(await world.act('sync')).toMatchObject({ status: 'failed', failure_code: 'no_space' });
    expect(statusNow()).toBe('failing');
    world.script.broken.clear();
    await world.clock.advance(2000);
    await until(() => statusNow() === 'ok');
    expect(world.releases.attestor.volumeError()).toBe(null);
    expect(world.attested().official?.release_id).toBe('1.0');
  });

  test('does not need the database either: versions are reserved in it', async () => {
    const world = await synced();
    const before = world.attested();
    world.database.prepare('PRAGMA query_only = ON').get();
    world.script.broken.set('publishAttestation', Object.assign(new Error('no'), { code: 'ENOSPC' }));
    await world.clock.advance(200_000);
    await until(() => world.attested().version > before.version);
    const lagging = world.attested();
    expect(lagging.official).toEqual(before.official);
    expect(world.releases.diagnostics().find((check) => check.id === 'attestation')).toMatchObject({
      status: 'degraded',
      message: expect.stringMatching(
        /no_space .*; the database cannot store the envelope: data_read_only /,
      ) as unknown,
    });
    // The process ends without a clean stop: neither the volume nor the database knows its last version.
    world.script.broken.clear();
    await world.restart();
    expect(world.attested().version).toBeGreaterThan(lagging.version);
  });

  test('a withdrawal does not need the volume', async () => {
    const world = await synced();
    world.script.broken.set('publishAttestation', Object.assign(new Error('no'), { code: 'ENOSPC' }));
    await world.damage('one', 'bad');
    await world.act('verify', { force: true });
    expect(world.attested().official?.result).toBe('FAILED');
  });

  test('a release becomes current only after its envelope is on the volume', async () => {
    const world = await synced();
    world.upstream.releaseId = '2.0';
    world.upstream.files.set('a', 'two');
    world.script.broken.set('publishAttestation', Object.assign(new Error('no'), { code: 'ENOSPC' }));
    expect(await world.act('sync')).toMatchObject({ status: 'failed', failure_code: 'no_space' });
    expect(world.attested().official?.release_id).toBe('1.0');
    expect(world.row('1.0')).toBe('current');
  });

  test('ends when the last full verification is too old, and begins again after one', async () => {
    const world = await synced();
    await world.clock.advance(8 * DAY);
    expect((await world.act('refresh')).result).toMatchObject({ attestation_version: null });
    expect(world.attested().expires_at * 1000).toBeLessThan(world.clock.now());
    expect(world.releases.diagnostics()).toContainEqual({
      id: 'attestation',
      status: 'failing',
      message: expect.stringContaining('last full verification') as unknown,
    });
    await world.act('verify');
    expect(world.attested().issued_at).toBe(Math.floor(world.clock.now() / 1000));
    expect(world.attested().official).toMatchObject({ result: 'PASSED' });
  });
});

describe('waitForChange', () => {
  test('returns immediately when the version differs', async () => {
    const world = await synced();
    await world.releases.attestation.waitForChange(null, 1e9, never);
    await world.releases.attestation.waitForChange(1, 1e9, never);
  });

  test('returns with the next attestation', async () => {
    const world = await synced();
    const { version } = world.attested();
    let woken = false;
    const waiting = world.releases.attestation.waitForChange(version, 1e9, never).then(() => {
      woken = true;
    });
    await Promise.resolve();
    expect(woken).toBe(false);
    await world.act('refresh');
    await waiting;
    expect(world.attested().version).toBe(version + 1);
  });

  test('returns after the time, and when the caller disconnects', async () => {
    const world = await synced();
    const { version } = world.attested();
    const timed = world.releases.attestation.waitForChange(version, 1000, never);
    await world.clock.advance(1000);
    await timed;
    const gone = new AbortController();
    const abandoned = world.releases.attestation.waitForChange(version, 1e9, gone.signal);
    gone.abort();
    await abandoned;
    expect(world.attested().version).toBe(version);
  });
});

test('every attestation names the previous one and has a higher version', async () => {
  const world = await synced();
  const seen = [world.attested()];
  for (const action of ['refresh', 'verify', 'refresh']) {
    await world.act(action);
    seen.push(world.attested());
  }
  await world.restart();
  seen.push(world.attested());
  const versions = seen.map((statement) => statement.version);
  expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
  expect(new Set(seen.map((statement) => statement.previous_payload_sha256)).size).toBe(seen.length);
});
