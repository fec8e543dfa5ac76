import { partial } from '../../support/partial.ts';
import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { keyIdOf, type SigningKey } from '../../../src/attestation/keys.ts';
import { RETAINED_MAX_RELEASES } from '../../../src/contract/formats/attestation-format.ts';
import { scheduleIntervals } from '../../../src/daemon/settings/module-settings.ts';
import {
  type DaemonConfiguration,
  daemonConfigurationSchema,
  exchangeRootOf,
  verifyIntervalSeconds,
} from '../../../src/daemon/settings/config.ts';
import { createSettingsHolder, type DaemonSettings } from '../../../src/daemon/settings/daemon-settings.ts';

import { createSettingsLoader } from '../../../src/daemon/settings/load-settings.ts';
import { compareSettings } from '../../../src/daemon/settings/settings-changes.ts';
import { createSigningKeyWatch } from '../../../src/daemon/settings/signing-key-watch.ts';
import { CHANNELS } from '../../../src/domain/release/channel.ts';
import { describeConfiguration } from '../../../src/platform/config/configuration-key.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const MINIMUM = {
  snapshot: { root: '/srv/snapshot' },
  data: { dir: '/var/lib/slipway' },
  attestation: { signingKeyFiles: ['/etc/slipway/signing.key'] },
};

function problems(over: object): string[] {
  const parsed = daemonConfigurationSchema.safeParse({ ...MINIMUM, ...over });
  return parsed.success ? [] : parsed.error.issues.map((issue) => issue.path.join('.'));
}

describe('the language and the script of a game', () => {
  const warningsOf = async (sourceScript: string, sourceLanguage: string): Promise<readonly string[]> => {
    const keyFile = join(await temporaryDirectory(), 'signing.key');
    const { privateKey } = generateKeyPairSync('ed25519');
    await writeFile(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    const config = daemonConfigurationSchema.parse({
      ...MINIMUM,
      attestation: { signingKeyFiles: [keyFile] },
      parse: { sourceScript },
      translation: { sourceLanguage },
    });
    const loaded = await createSettingsLoader(() => ({ ok: true, value: { config } }))();
    if (!loaded.ok) throw new Error(loaded.error.join());
    return loaded.value.warnings.filter((warning) => warning.includes('sourceScript'));
  };

  it.each([
    ['japanese', 'ja'],
    ['japanese', 'zh-Hant'],
    ['korean', 'ko-KR'],
    ['latin', 'sr-Latn'],
    ['any', 'th'],
  ])('%s belongs to %s', async (script, language) => {
    expect(await warningsOf(script, language)).toEqual([]);
  });

  it.each([
    ['korean', 'ja'],
    ['chinese', 'ja'],
    ['japanese', 'en'],
  ])('%s with %s gives a warning that names both settings', async (script, language) => {
    expect(await warningsOf(script, language)).toEqual([
      expect.stringContaining(
        `translation.sourceLanguage is "${language}", but parse.sourceScript is "${script}"`,
      ),
    ]);
  });
});

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

function configuration(change: object = {}): DaemonConfiguration {
  return daemonConfigurationSchema.parse({
    snapshot: { root: '/snapshot' },
    data: { dir: '/data' },
    attestation: { signingKeyFiles: ['a.key'] },
    ...change,
  });
}

describe('compared settings', () => {
  it('without a difference change nothing', () => {
    const running = configuration();
    expect(compareSettings(running, configuration())).toEqual({
      effective: running,
      changed: [],
      restartRequired: [],
    });
  });

  it('separate changes that apply now from those that need a restart, and keep the running values', () => {
    const running = configuration({ tokenFile: '/token' });
    const next = configuration({
      listen: { port: 9000 },
      snapshot: { root: '/other', reserveBytes: 5 },
      data: { dir: '/elsewhere' },
      attestation: { signingKeyFiles: ['a.key', 'b.key'], ttlSeconds: 60 },
      upstream: { kind: 'directory', directory: { path: '/up' } },
      hashing: { threads: 7 },
      log: { level: 'debug' },
    });
    const { effective, changed, restartRequired } = compareSettings(running, next);
    expect(restartRequired).toEqual(['data.dir', 'hashing.threads', 'listen.port', 'snapshot.root']);
    expect(changed).toEqual([
      'attestation.signingKeyFiles',
      'attestation.ttlSeconds',
      'log.level',
      'snapshot.reserveBytes',
      'tokenFile',
      'upstream.directory.path',
      'upstream.directory.serverInfoFile',
      'upstream.kind',
    ]);
    expect(effective).toEqual({
      ...next,
      listen: running.listen,
      data: running.data,
      hashing: running.hashing,
      snapshot: { root: '/snapshot', reserveBytes: 5, adopt: false },
    });
    // The running settings are compared again next time: changes that need a restart are reported again.
    expect(compareSettings(effective, next)).toEqual({ effective, changed: [], restartRequired });
  });

  it('name only settings that exist', () => {
    const names = describeConfiguration(daemonConfigurationSchema).keys.map(({ name }) => name);
    const { changed, restartRequired } = compareSettings(
      configuration(),
      configuration({
        listen: { host: '::1', port: 1, socketPath: '/s' },
        hashing: { threads: 9 },
        supervised: true,
      }),
    );
    expect(names).toEqual(expect.arrayContaining([...changed, ...restartRequired]));
    expect(restartRequired).toEqual(['hashing.threads', 'listen.host', 'listen.port', 'listen.socketPath']);
  });
});

function signingKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return { keyId: keyIdOf(publicKey), privateKey };
}

describe('the watch on signing keys', () => {
  test('an attestation that cannot be issued with new keys is issued on the next turn', async () => {
    const clock = new FakeClock();
    const next = signingKey();
    const configuration = {
      attestation: { signingKeyFiles: ['key.pem'] },
    } as unknown as DaemonSettings['configuration'];
    const settings = createSettingsHolder({ configuration, signingKeys: [signingKey()] });
    const errors: string[] = [];
    let isVolumeWritable = false;
    let reschedules = 0;
    /** The key ids of each call. */
    const issued: string[][] = [];
    const watch = createSigningKeyWatch({
      settings,
      load: async () => await Promise.resolve({ ok: true, value: { keys: [next], warnings: [] } }),
      attestor: partial({
        issue: async () => {
          issued.push(settings.current().signingKeys.map(({ keyId }) => keyId));
          if (!isVolumeWritable) throw new Error('no space');
          return await Promise.resolve(issued.length);
        },
        reschedule: () => {
          reschedules += 1;
        },
      }),
      clock,
      logger: partial({
        info: () => undefined,
        warn: () => undefined,
        error: (_fields: unknown, message?: string) => errors.push(message ?? ''),
      }),
    });
    watch.start();
    await clock.advance(3000);
    expect(issued).toEqual([[next.keyId], [next.keyId], [next.keyId]]);
    expect(errors).toEqual(['no attestation could be issued with the new signing keys yet; retrying']);
    expect(reschedules).toBe(0);

    isVolumeWritable = true;
    await clock.advance(5000);
    expect(issued).toHaveLength(4);
    expect(reschedules).toBe(1);
    await watch.stop();
  });
});
