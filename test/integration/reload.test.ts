import { copyFile, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { makeKeys } from '../support/make-keys.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { reusedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { startSystem, type Readyz, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeTokenFile } from '../support/token-file.ts';
import { until } from '../support/until.ts';

/** A served release whose server trusts the keys of a folder. */
interface Rotating extends TestSystem {
  /** Makes a key pair; returns its folder. */
  readonly keygen: () => Promise<string>;
  /** Makes the server trust the public key of a folder, under a name. */
  readonly trust: (keys: string, name: string) => Promise<void>;
  /** Removes every trusted key but the one of this name. */
  readonly distrustOthers: (name: string) => Promise<void>;
  /** The key files of the configuration of the daemon. */
  readonly signingKeys: () => Promise<readonly string[]>;
  /** Changes the configuration file of the daemon. */
  readonly configure: (change: (config: Record<string, Record<string, unknown>>) => void) => Promise<void>;
  readonly reload: () => Promise<{ readonly status: number; readonly body: Record<string, unknown> }>;
}

async function servedSystem(atEnd: AtEnd): Promise<Rotating> {
  const upstream = await temporaryDirectory(atEnd);
  await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
  const trusted = await temporaryDirectory(atEnd);
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    // No attestation is renewed while the tests run.
    daemon: { attestation: { ttlSeconds: 86_400 } },
    server: { attestation: { publicKeyFiles: [trusted] } },
    startNothing: true,
    atEnd,
  });
  await copyFile(join(system.directory, 'keys/signing.pub'), join(trusted, 'first.pub'));
  await Promise.all([system.startDaemon(), system.startServer()]);
  await system.untilReady(true);
  return {
    ...system,
    trust: async (keys, name) => {
      await copyFile(join(keys, 'signing.pub'), join(trusted, `${name}.pub`));
    },
    distrustOthers: async (name) => {
      for (const file of await readdir(trusted)) if (file !== `${name}.pub`) await rm(join(trusted, file));
    },
    signingKeys: async () => {
      const config = parse(await readFile(system.daemonConfiguration, 'utf8')) as {
        attestation: { signingKeyFiles: string[] };
      };
      return config.attestation.signingKeyFiles;
    },
    keygen: async () => {
      const directory = join(await temporaryDirectory(atEnd), 'keys');
      await makeKeys(directory);
      return directory;
    },
    configure: async (change) => {
      const config = parse(await readFile(system.daemonConfiguration, 'utf8')) as Record<
        string,
        Record<string, unknown>
      >;
      change(config);
      await writeFile(system.daemonConfiguration, stringify(config));
    },
    reload: async () => {
      const response = await system.askDaemon('/v1/control/reload', { method: 'POST' });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    },
  };
}

async function readyz({
  serverUrl,
}: TestSystem): Promise<Readyz & { attestation: { version: number } | null }> {
  return (await (await fetch(`${serverUrl}/readyz`)).json()) as Readyz & {
    attestation: { version: number } | null;
  };
}

describe('a change of settings without a restart', () => {
  /** Each test leaves it served with any keys and any release, and the other settings as they were. */
  const reloaded = reusedFixture(servedSystem);

  it('rotates the signing key on both sides, and stays ready', async () => {
    const system = await reloaded();
    const next = await system.keygen();
    const current = await system.signingKeys();
    const untilVersion = async (version: unknown): Promise<void> => {
      await until(async () => ((await readyz(system)).attestation?.version ?? 0) >= Number(version));
      expect((await readyz(system)).distributable).toBe(true);
    };

    await system.trust(next, 'second');
    await system.configure((config) => {
      config['attestation']!['signingKeyFiles'] = [...current, join(next, 'signing.key')];
    });
    const both = await system.reload();
    expect(both).toMatchObject({
      status: 202,
      body: {
        result: {
          changed: ['attestation.signingKeyFiles'],
          restart_required: [],
          signing_keys: { added: [expect.stringMatching(/^[0-9a-f]{64}$/)], removed: [] },
        },
      },
    });
    await untilVersion((both.body['result'] as { attestation_version: number }).attestation_version);

    const before = system.server.lines.length;
    await system.distrustOthers('second');
    await until(() =>
      system.server.lines
        .slice(before)
        .some(
          (line) => line.includes('the trusted public keys have changed') && line.includes('"removed":["'),
        ),
    );
    expect((await readyz(system)).distributable).toBe(true);
    await system.configure((config) => {
      config['attestation']!['signingKeyFiles'] = [join(next, 'signing.key')];
    });
    const last = await system.reload();
    await untilVersion((last.body['result'] as { attestation_version: number }).attestation_version);
  });

  it('revokes the trust in a leaked key immediately, and serves again with the next key', async () => {
    const system = await reloaded();
    const next = await system.keygen();
    await system.trust(next, 'third');
    await system.distrustOthers('third');
    expect((await system.untilReady(false)).reason).toBe('AttestationInvalid');
    expect((await fetch(system.cdn('empty.bytes'))).status).toBe(503);
    await system.configure((config) => {
      config['attestation']!['signingKeyFiles'] = [join(next, 'signing.key')];
    });
    expect((await system.reload()).status).toBe(202);
    await system.untilReady(true);
    expect((await fetch(system.cdn('empty.bytes'))).status).toBe(200);
  });

  it('refuses rules of parsing whose files cannot be read, names all of them, and changes nothing', async () => {
    const system = await reloaded();
    const good = await readFile(system.daemonConfiguration, 'utf8');
    await system.configure((config) => {
      config['log'] = { level: 'error' };
      config['parse'] = {
        secrets: { zip: '/nonexistent/zip' },
        rules: [{ destination: ['*'], format: 'flatbuffers', schema: '/nonexistent/schema' }],
      };
    });
    const { status, body } = await system.reload();
    expect(status).toBe(422);
    expect(body).toMatchObject({
      code: 'config_invalid',
      errors: [
        { message: expect.stringContaining('parse.secrets.zip: /nonexistent/zip') },
        { message: expect.stringContaining('parse.rules[0].schema: /nonexistent/schema') },
      ],
    });
    await system.configure((config) => {
      delete config['parse'];
    });
    // The log level did not change with the refused reload.
    expect(((await system.reload()).body['result'] as { changed: string[] }).changed).toEqual(['log.level']);
    await writeFile(system.daemonConfiguration, good);
    expect((await system.reload()).status).toBe(202);
  });

  it('that is wrong changes nothing, and reports every problem', async () => {
    const system = await reloaded();
    const good = await readFile(system.daemonConfiguration, 'utf8');
    const before = (await readyz(system)).attestation?.version;
    await system.configure((config) => {
      config['attestation']!['ttlSeconds'] = 1;
      config['log'] = { level: 'loud' };
      Object.assign(config, { colour: 'blue' });
    });
    const refused = await system.reload();
    expect([refused.status, refused.body['code']]).toEqual([422, 'config_invalid']);
    const { errors } = refused.body as { errors: { message: string }[] };
    expect(errors.map(({ message }) => message).join('\n')).toMatch(
      /(?=[^]*ttlSeconds)(?=[^]*log\.level)(?=[^]*colour)/,
    );

    await writeFile(system.daemonConfiguration, good);
    await system.configure((config) => {
      config['attestation']!['signingKeyFiles'] = [
        '/nowhere/a.key',
        join(system.directory, 'keys/signing.pub'),
      ];
      config['log'] = { level: 'debug' };
    });
    const keys = await system.reload();
    expect([keys.status, (keys.body['errors'] as unknown[]).length]).toEqual([422, 2]);

    await writeFile(system.daemonConfiguration, good);
    expect(await system.reload()).toMatchObject({
      status: 202,
      body: { result: { changed: [], restart_required: [], attestation_version: null } },
    });
    expect((await readyz(system)).attestation?.version).toBe(before);
    const tasks = (await (await system.askDaemon(`/v1/reports/task.list`)).json()) as {
      items: { kind: string; status: string; failure_code: string | null }[];
    };
    expect(
      tasks.items
        .filter(({ kind }) => kind === 'reload')
        .slice(0, 3)
        .map(({ status, failure_code }) => [status, failure_code]),
    ).toEqual([
      ['succeeded', null],
      ['failed', 'config_invalid'],
      ['failed', 'config_invalid'],
    ]);
  });

  it('applies a new upstream, log level and token, and names the settings that need a restart', async () => {
    const system = await reloaded();
    const other = await temporaryDirectory();
    await writeReleaseTree(other, { id: 'r91_two', files: sampleFiles() });
    const tokenFile = await writeTokenFile('a-shared-canary-token');
    const good = await readFile(system.daemonConfiguration, 'utf8');
    await system.configure((config) => {
      config['upstream'] = { kind: 'directory', directory: { path: other } };
      config['log'] = { level: 'error' };
      config['hashing'] = { threads: 3 };
      config['attestation']!['ttlSeconds'] = 12;
    });
    const { status, body } = await system.reload();
    expect([status, body['result']]).toEqual([
      202,
      {
        changed: ['attestation.ttlSeconds', 'log.level', 'upstream.directory.path'],
        restart_required: ['hashing.threads'],
        signing_keys: { added: [], removed: [] },
        attestation_version: expect.any(Number) as number,
        warnings: [],
      },
    ]);
    expect(await system.run('sync')).toMatchObject({
      status: 'succeeded',
      result: { release_id: 'r91_two' },
    });
    // Renewed at a third of the new validity, not of the old one.
    const issued = body['result'] as { attestation_version: number };
    const version = (await readyz(system)).attestation?.version ?? issued.attestation_version;
    await until(async () => ((await readyz(system)).attestation?.version ?? 0) > version + 1);
    await system.configure((config) => Object.assign(config, { tokenFile, log: { level: 'info' } }));
    expect((await system.reload()).status).toBe(202);
    const isReloaded = (line: string): boolean =>
      line.includes('settings reloaded') && line.includes('tokenFile');
    await until(() => system.daemon.lines.some(isReloaded));
    // The sync of the other release, at the level of errors, has logged nothing.
    const lines = system.daemon.lines.slice(0, system.daemon.lines.findIndex(isReloaded));
    expect(lines.filter((line) => line.includes('r91_two'))).toEqual([]);
    expect((await system.reload()).status).toBe(401);

    await writeFile(system.daemonConfiguration, good);
    const restored = await fetch(`${system.daemonUrl}/v1/control/reload`, {
      method: 'POST',
      headers: { authorization: 'Bearer a-shared-canary-token' },
    });
    expect(restored.status).toBe(202);
    const { result } = (await restored.json()) as { result: { attestation_version: number } };
    await until(async () => ((await readyz(system)).attestation?.version ?? 0) >= result.attestation_version);
  });
});
