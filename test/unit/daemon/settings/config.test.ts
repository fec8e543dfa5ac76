import { describe, expect, it } from 'vitest';
import { RETAINED_MAX_RELEASES } from '../../../../src/contract/formats/attestation-format.ts';
import { CHANNELS } from '../../../../src/domain/release/channel.ts';
import { daemonConfigurationSchema } from '../../../../src/daemon/settings/config.ts';

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
  ])('keeps databases in %s: %s', (dir, allowed) => {
    expect(problems({ data: { dir } })).toEqual(allowed ? [] : ['data.dir']);
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
