import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { RequestOptions } from 'node:https';
import { join } from 'node:path';
import {
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  V1MicroTime,
} from '@kubernetes/client-node';
import { Agent } from 'undici';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { stringify } from 'yaml';
import { listen } from '../../../src/platform/http/listen.ts';
import {
  connectCluster,
  type ClusterConnection,
} from '../../../src/platform/kubernetes/cluster-connection.ts';
import {
  KubeConfigError,
  loadKubeConfig,
  namespaceOf,
} from '../../../src/platform/kubernetes/kube-config.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A connection to an API server that answers as the test says. */
async function connect(
  handler: Handler,
): Promise<{ connection: ClusterConnection; connections: () => number }> {
  let count = 0;
  const server = createServer(handler).on('connection', () => {
    count += 1;
  });
  const listening = await listen(server, { host: '127.0.0.1', port: 0 });
  const file = join(await temporaryDirectory(), 'config');
  await writeFile(
    file,
    stringify({
      clusters: [{ name: 'c', cluster: { server: listening.url } }],
      users: [{ name: 'u', user: { token: 'secret' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  const connection = connectCluster(await loadKubeConfig({ file, env: {} }), 'test/1');
  onTestFinished(async () => {
    await connection.close();
    await listening.close(AbortSignal.abort());
  });
  return { connection, connections: () => count };
}

const reply = (response: ServerResponse, status: number, body: object, headers = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
};
const ref = { namespace: 'ns', name: 'n' };

/** A connection that makes an agent for each call and keeps the first, as with certificates. */
function connectWithAgents(server: string): { connection: ClusterConnection; agents: Agent[] } {
  const agents: Agent[] = [];
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: 'c', server, skipTLSVerify: true }, { name: 'u' });
  config.applySecurityAuthentication = async (context) => {
    const agent = new Agent();
    agents.push(agent);
    context.setDispatcher(agent);
    await Promise.resolve();
  };
  const connection = connectCluster(config, 'test/1');
  onTestFinished(async () => {
    await connection.close();
  });
  return { connection, agents };
}

describe('a connection to an API server', () => {
  it('sends credentials, media type and body of a typed call', async () => {
    const seen: unknown[] = [];
    const { connection } = await connect((request, response) => {
      const { method, url, headers } = request;
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        seen.push([method, url, headers.authorization, headers['user-agent'], headers['content-type'], body]);
        reply(response, 200, { metadata: { name: 'n' }, spec: { renewTime: '2026-01-01T00:00:00.123456Z' } });
      });
    });
    const custom = connection.api(CustomObjectsApi);
    const patch = { group: 'g', version: 'v1', plural: 'things', ...ref, body: { a: 1 }, force: true };
    const contentType = 'application/apply-patch+yaml';
    await custom.patchNamespacedCustomObjectStatus(patch, connection.call({ contentType }));
    const leases = connection.api(CoordinationV1Api);
    const renewTime = new V1MicroTime(0);
    await leases.replaceNamespacedLease({ ...ref, body: { spec: { renewTime } } }, connection.call());
    expect(seen).toEqual([
      [
        'PATCH',
        '/apis/g/v1/namespaces/ns/things/n/status?force=true',
        'Bearer secret',
        'test/1',
        contentType,
        '{"a":1}',
      ],
      [
        'PUT',
        '/apis/coordination.k8s.io/v1/namespaces/ns/leases/n',
        'Bearer secret',
        'test/1',
        'application/json',
        '{"spec":{"renewTime":"1970-01-01T00:00:00.000000Z"}}',
      ],
    ]);
  });

  it('keeps its connections for later calls', async () => {
    const { connection, connections } = await connect((_request, response) => reply(response, 200, {}));
    const core = connection.api(CoreV1Api);
    for (let count = 0; count < 10; count += 1) await core.readNamespacedSecret(ref, connection.call());
    // The pool may open a second one while the first is not idle yet.
    expect(connections()).toBeLessThanOrEqual(2);
  });

  it('throws the Status and the Retry-After of a refusal', async () => {
    const { connection } = await connect((_request, response) => {
      const details = { causes: [{ reason: 'NamespaceTerminating' }, { field: 'metadata.namespace' }] };
      const body = { reason: 'TooManyRequests', message: 'later', details };
      reply(response, 429, body, { 'retry-after': '7' });
    });
    const refused = {
      name: 'KubernetesError',
      status: 429,
      reason: 'TooManyRequests',
      retryAfterMs: 7_000,
      causes: ['NamespaceTerminating', ''],
    };
    const core = connection.api(CoreV1Api);
    await expect(core.readNamespacedSecret(ref, connection.call())).rejects.toMatchObject(refused);
    await expect(connection.open('/x', {}, new AbortController().signal)).rejects.toMatchObject(refused);
  });

  it('ends a call at its deadline and with its signal', async () => {
    const { connection } = await connect(() => undefined);
    const core = connection.api(CoreV1Api);
    const late = core.readNamespacedSecret(ref, connection.call({ timeoutMs: 100 }));
    await expect(late).rejects.toMatchObject({ name: 'HttpFailure', code: 'timeout' });
    const abort = new AbortController();
    const aborted = core.readNamespacedSecret(ref, connection.call({ signal: abort.signal }));
    abort.abort(new Error('stopped'));
    await expect(aborted).rejects.toThrow('stopped');
  });

  it('does not wait longer than the deadline for credentials', async () => {
    const { connection } = await connect((_request, response) => reply(response, 200, {}));
    const config = new KubeConfig();
    config.loadFromClusterAndUser(
      { name: 'c', server: connection.server, skipTLSVerify: true },
      { name: 'u', exec: { command: 'sleep', args: ['2'] } },
    );
    const slow = connectCluster(config, 'test/1');
    const call = slow.api(CoreV1Api).readNamespacedSecret(ref, slow.call({ timeoutMs: 100 }));
    await expect(call).rejects.toMatchObject({ code: 'timeout' });
  });

  it('streams a body, and fails when the connection breaks off', async () => {
    const { connection } = await connect((request, response) => {
      response.writeHead(200).write(request.url ?? '');
      setTimeout(() => response.destroy(), 50);
    });
    const body = await connection.open('/path', { watch: 'true' }, new AbortController().signal);
    const chunks: string[] = [];
    const read = async (): Promise<void> => {
      for await (const chunk of body) chunks.push(chunk.toString());
    };
    await expect(read()).rejects.toThrow();
    expect(chunks.join('')).toBe('/path?watch=true');
  });

  it('reports an API server that does not listen', async () => {
    const config = new KubeConfig();
    config.loadFromClusterAndUser(
      { name: 'c', server: 'http://127.0.0.1:1', skipTLSVerify: true },
      { name: 'u' },
    );
    const connection = connectCluster(config, 'test/1');
    const call = connection.api(CoreV1Api).readNamespacedSecret(ref, connection.call());
    await expect(call).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('ECONNREFUSED') as string,
    });
  });

  it('reads certificates again after a network error of a call and of a stream', async () => {
    const { connection, agents } = connectWithAgents('http://127.0.0.1:1');
    await expect(connection.open('/x', {}, new AbortController().signal)).rejects.toThrow('ECONNREFUSED');
    expect(agents.map((agent) => agent.closed)).toEqual([true]);
    await expect(connection.api(CoreV1Api).readNamespacedSecret(ref, connection.call())).rejects.toThrow();
    expect(agents.map((agent) => agent.closed)).toEqual([true, true]);
  });

  it('keeps its connections when the caller aborts', async () => {
    let abort = new AbortController();
    const { connection: target } = await connect(() => {
      abort.abort(new Error('stopped'));
    });
    const { connection, agents } = connectWithAgents(target.server);
    const call = connection
      .api(CoreV1Api)
      .readNamespacedSecret(ref, connection.call({ signal: abort.signal }));
    await expect(call).rejects.toThrow('stopped');
    abort = new AbortController();
    await expect(connection.open('/x', {}, abort.signal)).rejects.toThrow('stopped');
    expect(agents.map((agent) => agent.closed)).toEqual([false, false]);
  });

  it('does not wait longer than a deadline for the body of a refused stream', async () => {
    const { connection } = await connect((_request, response) => {
      response.writeHead(500).write('{');
    });
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    const shorter = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => timeout(50));
    onTestFinished(() => {
      shorter.mockRestore();
    });
    const opened = connection.open('/x', {}, new AbortController().signal);
    await expect(opened).rejects.toMatchObject({ name: 'HttpFailure', code: 'timeout' });
  });
});

const base64 = (text: string): string => Buffer.from(text).toString('base64');

async function kubeconfig(user: object, cluster: object = {}, name = ''): Promise<string> {
  const path = join(await temporaryDirectory(), 'config');
  const config = {
    clusters: [{ name: `c${name}`, cluster: { server: 'https://api.example.org:6443/', ...cluster } }],
    users: [{ name: `u${name}`, user }],
    contexts: [
      { name: `one${name}`, context: { cluster: `c${name}`, user: `u${name}`, namespace: 'team' } },
      { name: `two${name}`, context: { cluster: `c${name}`, user: `u${name}` } },
    ],
    'current-context': `one${name}`,
  };
  await writeFile(path, stringify(config));
  return path;
}

/** The credentials of a call. */
async function credentialsOf(config: KubeConfig): Promise<RequestOptions> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  return options;
}

const bearer = (token: string): object => ({ headers: { Authorization: `Bearer ${token}` } });

describe('the configuration of the access', () => {
  describe('a kubeconfig', () => {
    it('gives server, certificates, token and namespace, inline or by path', async () => {
      const file = await kubeconfig(
        { tokenFile: 'token', 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') },
        { 'certificate-authority': 'ca.pem' },
      );
      await writeFile(join(file, '../ca.pem'), 'CA');
      await writeFile(join(file, '../token'), 'one\n');
      const config = await loadKubeConfig({ file, env: {} });
      expect([config.getCurrentCluster()?.server, namespaceOf(config)]).toEqual([
        'https://api.example.org:6443',
        'team',
      ]);
      const { ca, cert, key, headers } = await credentialsOf(config);
      expect([ca, cert, key].map(String)).toEqual(['CA', 'CERT', 'KEY']);
      expect(headers).toEqual({ Authorization: 'Bearer one' });
      expect(namespaceOf(await loadKubeConfig({ file, context: 'two', env: {} }))).toBe('default');
    });

    it('whose token file rotates gives the new token without delay', async () => {
      const file = await kubeconfig({ tokenFile: 'token' });
      const config = await loadKubeConfig({ file, env: {} });
      for (const token of ['one', 'two']) {
        await writeFile(join(file, '../token'), token);
        expect(await credentialsOf(config)).toMatchObject(bearer(token));
      }
    });

    it('runs the program that prints credentials', async () => {
      const directory = await temporaryDirectory();
      const command = join(directory, 'login');
      const credential = { kind: 'ExecCredential', status: { token: 'from-program' } };
      await writeFile(command, `#!/bin/sh\necho '${JSON.stringify(credential)}'\n`);
      await chmod(command, 0o755);
      const file = await kubeconfig({
        exec: { apiVersion: 'client.authentication.k8s.io/v1', command, interactiveMode: 'Never' },
      });
      expect(await credentialsOf(await loadKubeConfig({ file, env: {} }))).toMatchObject(
        bearer('from-program'),
      );
    });

    it.each([
      ['a server that is not a URL', { server: 'api' }, 'is not a URL'],
      ['an unverified server', { 'insecure-skip-tls-verify': true }, 'insecure-skip-tls-verify'],
    ])('with %s is rejected in a sentence', async (_what, cluster, message) => {
      const file = await kubeconfig({ token: 't' }, cluster);
      const loading = loadKubeConfig({ file, env: {}, requireVerifiedTls: true });
      await expect(loading).rejects.toThrow(message);
      await expect(loading).rejects.toThrow(KubeConfigError);
    });

    it('that is malformed, or lacks the context, is rejected', async () => {
      const file = await kubeconfig({ token: 't' });
      await expect(loadKubeConfig({ file, context: 'three', env: {} })).rejects.toThrow(
        'has no context "three"',
      );
      await writeFile(file, '{');
      await expect(loadKubeConfig({ file, env: {} })).rejects.toThrow('is not a usable kubeconfig');
      await expect(loadKubeConfig({ file: '/nowhere', env: {} })).rejects.toThrow('ENOENT');
    });
  });

  describe('the access to a cluster', () => {
    it('of a pod is its service account', async () => {
      const serviceAccountDirectory = await temporaryDirectory();
      const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443', HOME: '/nowhere' };
      await expect(loadKubeConfig({ env, serviceAccountDirectory })).rejects.toThrow(
        'automountServiceAccountToken',
      );
      for (const [name, text] of [
        ['ca.crt', 'CA'],
        ['namespace', 'slipway\n'],
        ['token', 'pod-token\n'],
      ] as const) {
        await writeFile(join(serviceAccountDirectory, name), text);
      }
      const config = await loadKubeConfig({ env, serviceAccountDirectory });
      expect([config.getCurrentCluster()?.server, namespaceOf(config)]).toEqual([
        'https://[fd00::1]:443',
        'slipway',
      ]);
      expect(await credentialsOf(config)).toMatchObject(bearer('pod-token'));
    });

    it('is the configured kubeconfig, then KUBECONFIG, then that of the home folder', async () => {
      const [first, second] = [await kubeconfig({ token: 'first' }), await kubeconfig({ token: 'second' })];
      const HOME = await temporaryDirectory();
      const tokenOf = async (file: string | undefined, env: Record<string, string>): Promise<unknown> =>
        (await loadKubeConfig({ file, env })).getCurrentUser()?.token;
      expect(await tokenOf(first, { KUBECONFIG: second })).toBe('first');
      expect(await tokenOf(undefined, { KUBECONFIG: second, HOME })).toBe('second');
      await expect(tokenOf(undefined, { HOME })).rejects.toThrow('no cluster is configured');
      await mkdir(join(HOME, '.kube'));
      await writeFile(
        join(HOME, '.kube/config'),
        await import('node:fs').then((fs) => fs.readFileSync(first)),
      );
      expect(await tokenOf(undefined, { HOME })).toBe('first');
    });

    it('is put together from files of KUBECONFIG that hold only a part each, or nothing', async () => {
      const directory = await temporaryDirectory();
      const parts: Readonly<Record<string, object | string>> = {
        empty: '',
        comment: '# written by kubectl later\n',
        current: { 'current-context': 'here' },
        nulls: { clusters: null, users: null, contexts: null },
        cluster: { clusters: [{ name: 'c', cluster: { server: 'https://api.example.org' } }] },
        rest: {
          users: [{ name: 'u', user: { tokenFile: 'token' } }],
          contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', namespace: 'team' } }],
        },
      };
      for (const [name, part] of Object.entries(parts)) {
        await writeFile(join(directory, name), typeof part === 'string' ? part : stringify(part));
      }
      await writeFile(join(directory, 'token'), 'from-file');
      const list = Object.keys(parts).map((name) => join(directory, name));
      const config = await loadKubeConfig({ env: { KUBECONFIG: list.join(':') } });
      expect([config.getCurrentCluster()?.server, namespaceOf(config)]).toEqual([
        'https://api.example.org',
        'team',
      ]);
      expect(await credentialsOf(config)).toMatchObject(bearer('from-file'));
      await expect(loadKubeConfig({ env: { KUBECONFIG: '/nowhere:/neither' } })).rejects.toThrow(
        'KUBECONFIG names no file that exists: /nowhere, /neither',
      );
    });

    it('merges the files of KUBECONFIG: the first that sets a name wins, missing ones are skipped', async () => {
      const files = [
        await kubeconfig({ token: 'first' }),
        '/nowhere',
        await kubeconfig({ token: 'shadowed' }),
        await kubeconfig({ token: 'other' }, {}, '-other'),
      ];
      const env = { KUBECONFIG: files.join(':') };
      expect((await loadKubeConfig({ env })).getCurrentUser()?.token).toBe('first');
      expect((await loadKubeConfig({ env, context: 'two-other' })).getCurrentUser()?.token).toBe('other');
    });
  });
});
