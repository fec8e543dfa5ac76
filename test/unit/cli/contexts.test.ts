import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { V1Pod } from '@kubernetes/client-node';
import { describe, expect, it } from 'vitest';
import { resolveTarget, type TargetApis } from '../../../src/cli/ctl/cluster/forward-target.ts';
import { ADMIN_TOKEN } from '../../support/admin-client.ts';
import { ctlService, reportExample } from '../../support/ctl-service.ts';
import { ctl, type CtlRun } from '../../support/ctl.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

interface Home {
  readonly path: string;
  readonly write: (text: string, mode?: number) => Promise<void>;
  readonly run: (argv: readonly string[], env?: Record<string, string>) => Promise<CtlRun>;
}

/** A folder for configuration of its own. */
async function home(): Promise<Home> {
  const folder = await temporaryDirectory();
  const path = join(folder, 'slipway', 'ctl.yaml');
  return {
    path,
    write: async (text, mode = 0o600) => {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
      await chmod(path, mode);
    },
    run: async (argv, env = {}) =>
      await ctl(argv, { env: { XDG_CONFIG_HOME: folder, HOME: folder, ...env } }),
  };
}

describe('contexts', () => {
  it('are stored, listed, used and deleted, and comments stay', async () => {
    const service = await ctlService();
    service.daemon.setReport('task.list', reportExample('task.list'));
    const { path, write, run } = await home();
    await write('# my services\n');
    const stored = await run([
      'context',
      'set',
      'one',
      '--url',
      service.url,
      '--token-file',
      service.tokenFile,
    ]);
    expect(stored).toEqual({ code: 0, out: 'one is stored\n', err: '' });
    expect((await run(['tasks', '-o', 'name'])).code).toBe(0);
    await run(['context', 'set', 'two', '-n', 'games', '--token-secret', 'slipway-admin/token']);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readFile(path, 'utf8')).toContain('# my services');
    expect((await run(['context', 'list'])).out).toMatch(
      /^\* +one +http.*\n +two +cluster games +Secret slipway-admin\/token$/mu,
    );
    expect((await run(['context', 'use', 'tow'])).err).toContain('has no context "tow"; did you mean "two"?');
    expect((await run(['context', 'use', 'two'])).code).toBe(0);
    expect((await run(['--ctl-context', 'one', 'tasks'])).code).toBe(0);
    expect((await run(['tasks'], { SLIPWAY_CTL_CONTEXT: 'one' })).code).toBe(0);
    await run(['context', 'delete', 'two']);
    expect((await run(['context', 'list', '-o', 'name'])).out).toBe('one\n');
    expect(await readFile(path, 'utf8')).not.toContain('current');
  });

  it('give the address and the token together: neither is used with another address', async () => {
    const service = await ctlService();
    service.daemon.setReport('task.list', reportExample('task.list'));
    const { path, write, run } = await home();
    await write(`current: a\ncontexts:\n  a: { url: 'http://127.0.0.1:1', tokenFile: admin.token }\n`);
    await writeFile(join(dirname(path), 'admin.token'), ADMIN_TOKEN);
    expect((await run(['tasks'])).code).toBe(3);
    expect((await run(['--url', service.url, 'tasks'])).err).toContain(
      'needs an admin token, and none is set',
    );
    expect((await run(['tasks'], { SLIPWAY_CTL_URL: service.url })).code).toBe(4);
    await write(
      `current: a\ncontexts:\n  a: { url: '${service.url}', tokenFile: admin.token, output: name }\n`,
    );
    const named = await run(['tasks'], { SLIPWAY_CTL_TOKEN: 'the-token-of-another-service' });
    expect([named.code, named.out]).toEqual([0, '01KAJ2X6V5Q0E8T9R3W7Y1Z4BC\n']);
    expect((await run(['--ctl-context', 'a', '--url', service.url, 'tasks'])).err).toContain('not both');
  });

  it('keep the token and the address of the environment apart, unless an option gives the token', async () => {
    const service = await ctlService();
    service.daemon.setReport('task.list', reportExample('task.list'));
    const { write, run } = await home();
    await write(`current: a\ncontexts:\n  a: { url: '${service.url}' }\n`);
    const env = { SLIPWAY_CTL_TOKEN: ADMIN_TOKEN, SLIPWAY_CTL_TOKEN_FILE: service.tokenFile };
    for (const argv of [['tasks'], ['--ctl-context', 'a', 'tasks']]) {
      expect((await run(argv, env)).err).toContain('needs an admin token, and none is set');
      expect((await run([...argv, '--token-file', service.tokenFile], env)).code).toBe(0);
    }
    const elsewhere = { ...env, SLIPWAY_CTL_URL: 'http://127.0.0.1:1' };
    expect((await run(['--ctl-context', 'a', 'tasks'], elsewhere)).code).toBe(4);
    expect((await run(['tasks'], elsewhere)).code).toBe(3);
  });

  it('replace an earlier one with the same name', async () => {
    const { path, run } = await home();
    await run(['context', 'set', 'a', '-n', 'games', '--token-secret', 'slipway-admin/token']);
    expect((await run(['context', 'set', 'a', '--url', 'http://h/', '--token-file', '/f'])).code).toBe(0);
    expect(await readFile(path, 'utf8')).toBe(
      'contexts:\n  a:\n    url: http://h/\n    tokenFile: /f\ncurrent: a\n',
    );
  });

  it('may hold a token only in a file that is closed to others, and never show it', async () => {
    const service = await ctlService();
    service.daemon.setReport('task.list', reportExample('task.list'));
    const { path, write, run } = await home();
    const text = `current: a\ncontexts:\n  a: { url: '${service.url}', token: ${ADMIN_TOKEN} }\n`;
    await write(text, 0o640);
    const refused = await run(['tasks']);
    expect([refused.code, refused.err.includes(`run chmod 600 ${path}`)]).toEqual([2, true]);
    await write(text);
    expect((await run(['tasks'])).code).toBe(0);
    for (const format of ['table', 'json', 'yaml']) {
      const { out } = await run(['context', 'list', '-o', format]);
      expect([out.includes('in this file'), out.includes(ADMIN_TOKEN)]).toEqual([true, false]);
    }
  });

  it.each([
    ['contexts:\n  a: { ulr: x }\n', 'contexts.a: Unrecognized key'],
    ['contexts: [\n', 'line 2'],
    ['contexts:\n  a: { tokenFile: f, kubectl: false }\n', 'contexts.a: needs an address'],
    ['contexts:\n  a: { url: u, namespace: n }\n', 'contexts.a: has url and namespace'],
    ['contexts:\n  a: { url: u, token: t, tokenFile: f }\n', 'contexts.a: has tokenFile and token'],
    ['contexts:\n  "a b": {}\n', 'contexts.a b'],
  ])('in a file such as %j are refused, and the file stays', async (text, message) => {
    const { path, write, run } = await home();
    await write(text);
    for (const argv of [['tasks'], ['context', 'set', 'b', '--url', 'http://h/']]) {
      const { code, err } = await run(argv);
      expect([code, err.includes(message)]).toEqual([2, true]);
    }
    expect(await readFile(path, 'utf8')).toBe(text);
  });

  it.each([
    [['context', 'set', 'a'], 'give what to store'],
    [['context', 'set', 'a b', '--url', 'http://h/'], 'cannot be the name of a context'],
    [['context', 'set', 'a', '--url', 'ftp://h/'], 'give an http or https URL'],
    [['--ctl-context', 'none', 'tasks'], 'has no context "none"'],
    ...['30s', '1.5', '0', '5000'].map((seconds): [string[], string] => [
      ['context', 'set', 'a', '--url', 'http://h/', '--timeout', seconds],
      `--timeout ${seconds}: must be a whole number from 1 to 3600`,
    ]),
    [['context', 'set', 'a', '--namespace', ''], 'contexts.a.namespace: must not be empty'],
    [['context', 'set', 'a', '--target-port', ''], 'contexts.a.targetPort: '],
    [['context', 'set', 'a', '--token-file', 'f'], 'contexts.a: needs an address'],
    [['context', 'set', 'a', '--url', 'http://h/', '-n', 'n'], 'contexts.a: has url and namespace'],
  ])('%j is refused, and nothing is stored', async (argv, message) => {
    const { path, run } = await home();
    const { code, err } = await run(argv);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
    await expect(readFile(path)).rejects.toThrow('ENOENT');
  });
});

/** A pod whose public port has the usual name and an unusual number. */
const POD: V1Pod = {
  metadata: { name: 'slipway-1' },
  spec: {
    containers: [{ name: 'server', ports: [{ name: 'http', containerPort: 8123 }] }],
    initContainers: [{ name: 'daemon', ports: [{ name: 'daemon-metrics', containerPort: 9191 }] }],
  },
  status: { phase: 'Running' },
};

const selector = { matchLabels: { app: 'slipway' } };

const apis = {
  core: {
    readNamespacedService: async () => ({
      spec: { selector: { app: 'slipway' }, ports: [{ name: 'http', port: 8443, targetPort: 'http' }] },
    }),
    readNamespacedPod: async () => POD,
    listNamespacedPod: async () => ({ items: [POD] }),
  },
  apps: {
    readNamespacedDeployment: async () => ({ spec: { selector } }),
    readNamespacedStatefulSet: async () => ({ spec: { selector } }),
  },
  call: () => ({}),
} as unknown as TargetApis;

describe('the port behind a target', () => {
  const resolve = async (target: string, targetPort: string | null) =>
    await resolveTarget(apis, { target, targetPort, namespace: 'ns' }, new AbortController().signal);

  it.each(['service/slipway', 'deployment/slipway', 'statefulset/slipway', 'pod/slipway-1'])(
    'is found by its name at %s, whatever its number is',
    async (target) => {
      expect(await resolve(target, null)).toEqual({ pod: 'slipway-1', port: 8123 });
    },
  );

  it('may be another one, by name or number', async () => {
    expect(await resolve('deployment/slipway', 'daemon-metrics')).toMatchObject({ port: 9191 });
    expect(await resolve('deployment/slipway', '7000')).toMatchObject({ port: 7000 });
    expect(await resolve('service/slipway', '8443')).toMatchObject({ port: 8123 });
    await expect(resolve('pod/slipway-1', 'nothing')).rejects.toThrow(
      'no container of pod/slipway-1 has a port named "nothing"',
    );
  });
});
