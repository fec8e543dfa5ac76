import type { AttestationRepository } from '../../../src/releases/records/attestation-repository.ts';
import { partial } from '../../support/partial.ts';
import { pino } from 'pino';
import { describe, expect, it, test } from 'vitest';
import { createVerificationDates } from '../../../src/releases/attest/verification-dates.ts';
import {
  createVersionCounter,
  lastPossibleVersion,
  RESERVED_VERSIONS,
  VERSION_BLOCK,
} from '../../../src/releases/attest/version-counter.ts';
import type { ReleaseChange, ReleaseRepository } from '../../../src/releases/records/release-repository.ts';
import type { SqlDatabase } from '../../../src/releases/records/sql.ts';
import type { ReleaseRow } from '../../../src/releases/records/release-row.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { createSyncedWorld, DAY, type World } from '../../support/release-world.ts';
import { until } from '../../support/until.ts';

const never = new AbortController().signal;

const synced = async (): Promise<World> => await createSyncedWorld({ a: 'one' });

describe('the attestor', () => {
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
      await until(
        () => told(world)['verification']?.[0] === 'ok' && told(world)['attestation']?.[0] === 'ok',
      );
      expect(world.engine.historyOf('verify').last?.status).toBe('succeeded');
      expect(world.attested().official?.verified_at ?? Infinity).toBeLessThanOrEqual(
        world.clock.now() / 1000,
      );
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
      const statusNow = () =>
        world.releases.diagnostics().find((check) => check.id === 'attestation')?.status;
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
      const statusNow = () =>
        world.releases.diagnostics().find((check) => check.id === 'attestation')?.status;
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
      await world.clock.skip(8 * DAY);
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
});

const HOUR = 3600;

interface Scene {
  readonly clock: FakeClock;
  /** Unix seconds. */
  readonly now: () => number;
  readonly dates: () => ReadonlyArray<number | null>;
  readonly followClock: () => void;
  readonly setFull: (isFull: boolean) => void;
  readonly logged: readonly string[];
}

/** @param ages of the verifications, seconds; negative for one in the future, `null` for none */
function sceneOf(ages: ReadonlyArray<number | null>): Scene {
  const clock = new FakeClock();
  const now = (): number => Math.floor(clock.now() / 1000);
  const dates = new Map(ages.map((age, index) => [String(index), age === null ? null : now() - age]));
  let isFull = false;
  const logged: string[] = [];
  const releases = {
    kept: () =>
      [...dates].map(
        ([release_id, verified_at]) => ({ channel: 'official', release_id, verified_at }) as ReleaseRow,
      ),
    update: (_channel: string, id: string, { verified_at: at }: ReleaseChange) => dates.set(id, at ?? null),
  } as unknown as ReleaseRepository;
  const database = {
    transaction: (step: () => void) => {
      if (isFull) throw Object.assign(new Error('full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 });
      step();
    },
  } as unknown as SqlDatabase;
  const logger = pino({ level: 'info' }, { write: (line: string) => logged.push(line) });
  const verifications = createVerificationDates({ releases, database, clock, logger });
  return {
    clock,
    now,
    dates: () => [...dates.values()],
    followClock: () => {
      verifications.followClock();
    },
    setFull: (value) => {
      isFull = value;
    },
    logged,
  };
}

describe('dates of verifications', () => {
  it('keep every age when the wall clock is set back, and leave one that lay in the future', () => {
    const { clock, now, dates, followClock } = sceneOf([60, 2 * HOUR, -60, null]);
    const undated = now() + 60;
    clock.jumpTo(clock.now() - HOUR * 1000);
    followClock();
    expect(dates()).toEqual([now() - 60, now() - 2 * HOUR, undated, null]);
    // The step is followed once.
    followClock();
    expect(dates()[0]).toBe(now() - 60);
  });

  it('change neither with a step forward nor with a small correction', () => {
    const { clock, dates, followClock } = sceneOf([60]);
    const before = dates();
    for (const step of [HOUR * 1000, -4000]) {
      clock.jumpTo(clock.now() + step);
      followClock();
    }
    expect(dates()).toEqual(before);
  });

  it('follow a step later when they cannot be stored, and the log names no step that was not stored', () => {
    const { clock, now, dates, followClock, setFull, logged } = sceneOf([60]);
    const before = dates();
    setFull(true);
    clock.jumpTo(clock.now() - HOUR * 1000);
    followClock();
    expect(dates()).toEqual(before);
    expect(logged.join('')).not.toContain('are dated earlier');
    setFull(false);
    followClock();
    expect(dates()).toEqual([now() - 60]);
    expect(logged.join('')).toContain('are dated earlier');
  });
});

function counter() {
  let broken = false;
  const reserved: number[] = [];
  const attestations: AttestationRepository = partial({
    reserve: (_store, upTo) => {
      if (broken) throw new Error('database or disk is full');
      reserved.push(upTo);
    },
  });
  const versions = createVersionCounter('store', attestations, createSilentLogger());
  return { versions, reserved, fail: () => (broken = true) };
}

describe('versions of attestations', () => {
  describe('the last version that an earlier process may have issued', () => {
    test.each([
      ['a new store', { database: null, volume: 0, otherWriter: false }, 0],
      ['a database that stored everything', { database: 7, volume: 7, otherWriter: false }, 7],
      ['a volume that lags', { database: 9, volume: 4, otherWriter: false }, 9],
      ['a lost database', { database: null, volume: 4, otherWriter: false }, 4 + VERSION_BLOCK],
      ['an older database', { database: 3, volume: 4, otherWriter: false }, 4 + VERSION_BLOCK],
      ['another writer', { database: 9, volume: 4, otherWriter: true }, 9 + VERSION_BLOCK],
      ['another writer without an envelope', { database: null, volume: 0, otherWriter: true }, VERSION_BLOCK],
    ])('%s', (_title, earlier, last) => {
      expect(lastPossibleVersion(earlier)).toBe(last);
    });
  });

  describe('the version counter', () => {
    test('reserves versions before it gives the first version, and gives the rest back', () => {
      const { versions, reserved } = counter();
      expect(() => versions.next()).toThrow('recovery');
      versions.continueFrom({ database: 5, volume: 5, otherWriter: false });
      expect([versions.next(), versions.next()]).toEqual([6, 7]);
      expect(reserved).toEqual([6 + RESERVED_VERSIONS]);
      versions.release();
      expect(reserved).toEqual([6 + RESERVED_VERSIONS, 7]);
    });

    test('a version that is reserved nowhere is not safe', () => {
      const { versions, fail } = counter();
      fail();
      versions.continueFrom({ database: 5, volume: 5, otherWriter: false });
      expect(versions.isSafe(versions.next())).toBe(false);
    });

    test('a version that is a block ahead of the volume is not safe', () => {
      const { versions } = counter();
      versions.continueFrom({ database: VERSION_BLOCK, volume: 1, otherWriter: false });
      expect(versions.isSafe(versions.next())).toBe(true);
      expect(versions.isSafe(versions.next())).toBe(false);
      versions.noteOnVolume(VERSION_BLOCK);
      expect(versions.isSafe(versions.next())).toBe(true);
    });

    test('ninety crashes in a row on a volume that cannot be written leave safe versions to issue', () => {
      const issued: number[] = [];
      let database = 5;
      for (let crash = 0; crash < 90; crash += 1) {
        const { versions, reserved } = counter();
        versions.continueFrom({ database, volume: 5, otherWriter: false });
        for (let renewal = 0; renewal < 3; renewal += 1) {
          const version = versions.next();
          expect(versions.isSafe(version)).toBe(true);
          issued.push(version);
        }
        // Without a release, the next process continues after the reservation.
        database = reserved.at(-1) ?? database;
      }
      expect(new Set(issued).size).toBe(270);
    });
  });
});
