import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeKeys } from '../support/make-keys.ts';
import { startSlipway, StartError } from '../support/process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeTokenFile } from '../support/token-file.ts';

async function failedStart(program: 'daemon' | 'operator' | 'server', text: string): Promise<StartError> {
  const file = join(await temporaryDirectory(), 'config.yaml');
  await writeFile(file, text);
  return await startSlipway(program, ['--config', file]).then(
    async (started) => {
      await started.kill();
      throw new Error('it started');
    },
    (error: unknown) => {
      if (error instanceof StartError) return error;
      throw error;
    },
  );
}

describe('a wrong configuration', () => {
  it('of the server reports every problem together and exits with 78', async () => {
    const { failed } = await failedStart(
      'server',
      `
listen: { port: 70000 }
publicBaseUrl: not a url
cdn: { host: "a/b" }
snapshot: { root: /nonexistent }
colour: blue
serverInfo: { channel: unofficial }
launcher: { exclude: ['{Android,iOS'] }
attestation: { publicKeyFiles: [/dev/null] }
`,
    );
    expect(failed.code).toBe(78);
    const text = failed.lines.join('\n');
    for (const key of [
      'listen.port',
      'publicBaseUrl',
      'cdn.host',
      'colour',
      'serverInfo.channel',
      'launcher.exclude',
    ]) {
      expect(failed.lines.filter((line) => line.includes(key))).toHaveLength(1);
    }
    expect(text).not.toContain('    at ');
  });

  it('of the daemon reports every problem together and exits with 78', async () => {
    const { failed } = await failedStart(
      'daemon',
      `
listen: { host: 0.0.0.0 }
attestation: { signingKeyFiles: [], ttlSeconds: 1 }
upstream: { kind: carrier-pigeon }
retention: { keep: 0 }
data: { dir: 5 }
snapshot: {}
`,
    );
    expect(failed.code).toBe(78);
    for (const key of [
      'listen.host',
      'attestation.ttlSeconds',
      'upstream.kind',
      'retention.keep',
      'snapshot.root',
    ]) {
      expect(failed.lines.filter((line) => line.includes(key))).toHaveLength(1);
    }
  });

  it('of the operator reports every problem together and exits with 78, also without a cluster', async () => {
    const { failed } = await failedStart(
      'operator',
      `
watch: { namespaces: [Bad_Name] }
election: { leaseSeconds: 5, renewSeconds: 5 }
probes: { port: 70000 }
`,
    );
    expect(failed.code).toBe(78);
    for (const key of ['watch.namespaces', 'election.renewSeconds', 'probes.port']) {
      expect(failed.lines.filter((line) => line.includes(key))).toHaveLength(1);
    }
    const nowhere = await failedStart('operator', 'kubernetes: { kubeconfig: /nonexistent }');
    expect(nowhere.failed.code).toBe(78);
    expect(nowhere.failed.lines.join('\n')).toContain('/nonexistent is not a usable kubeconfig');
  });
});

describe('weak tokens of the server', () => {
  it('are warnings at the start, and stop the start of a strict server', async () => {
    const directory = await temporaryDirectory();
    const keys = join(directory, 'keys');
    await makeKeys(keys);
    const token = await writeTokenFile('short');
    const configuration = `
listen: { host: 127.0.0.1, port: 0 }
metrics: { host: 127.0.0.1, port: 0 }
publicBaseUrl: https://resources.test.invalid
snapshot: { root: ${directory} }
attestation: { publicKeyFiles: [${join(keys, 'signing.pub')}] }
admin: { tokenFiles: [${token}] }
`;
    const file = join(directory, 'server.yaml');
    await writeFile(file, configuration);
    const started = await startSlipway('server', ['--config', file]);
    await started.kill();
    const finding = `${token}: the token has 5 characters`;
    expect(started.lines.filter((line) => line.includes(finding))).toHaveLength(1);
    const { failed } = await failedStart('server', `${configuration}strict: true\n`);
    expect([failed.code, failed.lines.filter((line) => line.includes(`strict: ${finding}`)).length]).toEqual([
      78, 1,
    ]);
  });
});

describe('a limit of open files', () => {
  it.each([
    ['server', 72],
    ['daemon', 152],
  ] as const)(
    'below what the %s needs stops the start with 78, and names the need',
    async (program, need) => {
      const directory = await temporaryDirectory();
      await makeKeys(join(directory, 'keys'));
      const file = join(directory, `${program}.yaml`);
      await writeFile(
        file,
        program === 'server'
          ? `
listen: { host: 127.0.0.1, port: 0 }
metrics: { host: 127.0.0.1, port: 0 }
publicBaseUrl: https://resources.test.invalid
snapshot: { root: ${directory} }
attestation: { publicKeyFiles: [${join(directory, 'keys/signing.pub')}] }
`
          : `
listen: { port: 0 }
data: { dir: ${join(directory, 'data')} }
snapshot: { root: ${join(directory, 'store')} }
attestation: { signingKeyFiles: [${join(directory, 'keys/signing.key')}] }
`,
      );
      const limited = (files: number): Promise<unknown> =>
        startSlipway(program, ['--config', file], {
          wrapper: ['sh', '-c', `ulimit -n ${files} && exec "$@"`, 'sh'],
        }).then(
          async (started) => {
            await started.kill();
            return { lines: started.lines.filter((line) => line.includes('open files: the limit is')) };
          },
          (error: unknown) => {
            if (error instanceof StartError) return error.failed;
            throw error;
          },
        );
      expect(await limited(64)).toEqual({
        code: 78,
        lines: [
          expect.stringContaining(
            `open files: the limit is 64 (ulimit -Hn), and this program needs at least ${need}`,
          ),
        ],
      });
      expect(await limited(need + 100)).toEqual({
        lines: [expect.stringContaining(`open files: the limit is ${need + 100}`)],
      });
    },
  );
});
