import { describe, expect, it } from 'vitest';
import {
  daemonConfigurationSchema,
  type DaemonConfiguration,
} from '../../../../src/daemon/settings/config.ts';
import { compareSettings } from '../../../../src/daemon/settings/settings-changes.ts';
import { describeConfiguration } from '../../../../src/platform/config/configuration-key.ts';

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
