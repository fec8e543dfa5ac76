import { describe, expect, it } from 'vitest';
import { RETAINED_MAX_RELEASES } from '../../../../src/contract/formats/attestation-format.ts';
import { CHANNELS } from '../../../../src/domain/release/channel.ts';
import { exchangeRootOf } from '../../../../src/daemon/settings/exchange-config.ts';
import { scheduleIntervals } from '../../../../src/daemon/daemon-parts.ts';
import { daemonConfigurationSchema, verifyIntervalSeconds } from '../../../../src/daemon/settings/config.ts';

const MINIMUM = {
  snapshot: { root: '/srv/snapshot' },
  data: { dir: '/var/lib/slipway' },
  attestation: { signingKeyFiles: ['/etc/slipway/signing.key'] },
};

function problems(over: object): string[] {
  const parsed = daemonConfigurationSchema.safeParse({ ...MINIMUM, ...over });
  return parsed.success ? [] : parsed.error.issues.map((issue) => issue.path.join('.'));
}

describe('the configuration of the daemon', () => {
  it('needs little and has the documented defaults', () => {
    expect(daemonConfigurationSchema.parse(MINIMUM)).toMatchObject({
      listen: { host: '127.0.0.1', port: 8091 },
      attestation: { ttlSeconds: 600, maxVerifyAgeSeconds: 604_800 },
      upstream: { kind: 'none', concurrency: 8, maxEntries: 2_000_000 },
      retention: { keep: 3, retainedCount: 2, retainedSeconds: 86_400, graceSeconds: 86_400 },
      sync: { onStart: true },
      hashing: { threads: 2 },
      supervised: false,
    });
  });

  it.each([
    ['0.0.0.0', false],
    ['10.0.0.1', false],
    ['example.org', false],
    ['127.0.0.53', true],
    ['::1', true],
    ['localhost', true],
  ])('listens on %s: %s', (host, allowed) => {
    expect(problems({ listen: { host } })).toEqual(allowed ? [] : ['listen.host']);
  });

  it.each([
    ['/srv/snapshot', false],
    ['/srv/snapshot/data', false],
    ['/srv/snapshot/../snapshot/x', false],
    ['/srv/snapshot/..data', false],
    ['/srv', true],
    ['/srv/snapshot-data', true],
    ['/srv/..data', true],
  ])('keeps databases and files of people in %s: %s', (dir, allowed) => {
    expect(problems({ data: { dir } })).toEqual(allowed ? [] : ['data.dir']);
    expect(problems({ exchange: { root: dir } })).toEqual(allowed ? [] : ['exchange.root']);
  });

  it('publishes what reviewers have accepted, of every file, and not by itself', () => {
    const { localized } = daemonConfigurationSchema.parse(MINIMUM);
    expect(localized).toMatchObject({ minState: 'proofread', include: [], minCoverage: 0, auto: false });
  });

  it.each([
    [{ minState: 'blocked' }, 'localized.minState'],
    [{ include: ['/a'] }, 'localized.include.0'],
    [{ minCoverage: 1.1 }, 'localized.minCoverage'],
  ])('refuses localized %j', (localized, path) => {
    expect(problems({ localized })).toEqual([path]);
  });

  it('exchanges files in a folder of its data, unless another one is set', () => {
    expect(exchangeRootOf({}, '/var/lib/slipway')).toBe('/var/lib/slipway/exchange');
    expect(exchangeRootOf({ root: '/mnt/exchange' }, '/var/lib/slipway')).toBe('/mnt/exchange');
  });

  it('verifies well before a verification is too old', () => {
    const interval = (over: object): number =>
      verifyIntervalSeconds(daemonConfigurationSchema.parse({ ...MINIMUM, ...over }));
    const attestation = { ...MINIMUM.attestation, maxVerifyAgeSeconds: 3600 };
    expect(interval({})).toBe(86_400);
    expect(interval({ attestation })).toBe(900);
    expect(interval({ attestation, verify: { intervalSeconds: 1800 } })).toBe(1800);
    expect(problems({ attestation, verify: { intervalSeconds: 1801 } })).toEqual(['verify.intervalSeconds']);
    expect(problems({ verify: { intervalSeconds: 0 } })).toEqual(['verify.intervalSeconds']);
  });

  it('schedules syncs and cleanups unless their interval is 0', () => {
    const intervals = (over: object) =>
      scheduleIntervals(daemonConfigurationSchema.parse({ ...MINIMUM, ...over }));
    const upstream = { kind: 'directory', directory: { path: '/srv/upstream' } };
    expect(intervals({ upstream })).toEqual({
      syncSeconds: 900,
      verifySeconds: 86_400,
      cleanupSeconds: 86_400,
      backupSeconds: 86_400,
    });
    expect(intervals({}).syncSeconds).toBeNull();
    const none = {
      sync: { intervalSeconds: 0 },
      retention: { cleanupIntervalSeconds: 0 },
      backup: { intervalSeconds: 0 },
    };
    expect(intervals({ upstream, ...none })).toMatchObject({
      syncSeconds: null,
      cleanupSeconds: null,
      backupSeconds: null,
    });
    expect(problems({ sync: { intervalSeconds: 29 } })).toEqual(['sync.intervalSeconds']);
  });

  it('retains at most the number of releases that an attestation of both channels holds', () => {
    const most = RETAINED_MAX_RELEASES / CHANNELS.length;
    expect(problems({ retention: { retainedCount: most } })).toEqual([]);
    expect(problems({ retention: { retainedCount: most + 1 } })).toEqual(['retention.retainedCount']);
  });

  it('reports every problem together', () => {
    const found = problems({
      colour: 'blue',
      listen: { port: 70_000 },
      attestation: { signingKeyFiles: [], ttlSeconds: 1 },
      retention: { keep: 0 },
      upstream: { concurrency: 65 },
    });
    expect(found.toSorted()).toEqual([
      '',
      'attestation.signingKeyFiles',
      'attestation.ttlSeconds',
      'listen.port',
      'retention.keep',
      'upstream.concurrency',
    ]);
  });
});
