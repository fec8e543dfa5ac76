import { createServer } from 'node:http';
import { connect } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { WebSocketServer, type WebSocket } from 'ws';
import { stringify } from 'yaml';
import { listen } from '../../src/platform/http/listen.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** An API server with one Service, its pods and a Secret. Its port-forward leads to a port of this machine. */
export interface FakeCluster {
  /** Environment with the kubeconfig, whose context names the namespace `team`. */
  readonly env: Readonly<Record<string, string>>;
  /** Requests in order, as `GET /path`. */
  readonly calls: string[];
  /** Connections that are currently forwarded. */
  readonly forwarded: number;
}

const TOKEN = 'kubernetes-token';
const PROTOCOL = 'v4.channel.k8s.io';
const FORWARD_PATH = /^\/api\/v1\/namespaces\/[a-z]+\/pods\/slipway-1\/portforward\?ports=8081$/;

const pod = (name: string, ready: 'True' | 'False'): object => ({
  metadata: { name },
  spec: { containers: [{ name: 'server', ports: [{ name: 'web', containerPort: 8081 }] }] },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready }] },
});

/** The labels by which the admin Service of the chart is found. */
const ADMIN_SERVICE = 'app.kubernetes.io/part-of=slipway,app.kubernetes.io/component=admin';

/** The label of the Secrets whose value is sent. */
const ADMIN_TOKEN = { 'slipway.dev/admin-token': 'true' };

const tokenOf = (secret: string): object => ({ token: Buffer.from(`${secret}\n`).toString('base64') });

const ADMIN_SERVICE_OBJECT = {
  metadata: { name: 'slipway-admin', annotations: { 'slipway.dev/admin-token': 'slipway-admin/token' } },
  spec: { selector: { app: 'slipway' }, ports: [{ name: 'http', port: 8080, targetPort: 'web' }] },
};

/** Objects by the end of their path. */
function objects(
  secret: string,
  ready: boolean,
  installations: readonly string[],
): Readonly<Record<string, object>> {
  return {
    'secrets/slipway-admin': { metadata: { labels: ADMIN_TOKEN }, data: tokenOf(secret) },
    'secrets/mail': { data: tokenOf(secret) },
    'services/impostor': { metadata: { annotations: { 'slipway.dev/admin-token': 'mail/token' } } },
    [`services?labelSelector=${encodeURIComponent(ADMIN_SERVICE)}&limit=10`]: {
      items: installations.map((name) => ({
        metadata: { name, annotations: { 'slipway.dev/admin-token': 'slipway-admin/token' } },
      })),
    },
    ...(installations.length === 0 ? {} : { 'services/slipway-admin': ADMIN_SERVICE_OBJECT }),
    'deployments/slipway': { spec: { selector: { matchLabels: { app: 'slipway' } }, template: {} } },
    'pods/slipway-1': pod('slipway-1', 'True'),
    'pods?labelSelector=app%3Dslipway&limit=100': {
      items: [
        { ...pod('slipway-2', 'True'), status: { phase: 'Pending' } },
        ...(ready ? [pod('slipway-0', 'False'), pod('slipway-1', 'True')] : [pod('slipway-1', 'False')]),
      ],
    },
  };
}

/**
 * Starts an API server. It stops with the running test.
 *
 * @param options.forwardTo port of this machine; `null` refuses to forward
 */
export async function startFakeCluster(options: {
  readonly secret: string;
  readonly forwardTo: number | null;
  /** Whether a pod is ready; by default one is. */
  readonly ready?: boolean;
  /** Names of the admin Services in it. */
  readonly installations?: readonly string[];
}): Promise<FakeCluster> {
  const calls: string[] = [];
  const channels = new Set<WebSocket>();
  const known = objects(options.secret, options.ready ?? true, options.installations ?? ['slipway-admin']);
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    calls.push(`${request.method} ${path}`);
    const isAllowed = request.headers.authorization === `Bearer ${TOKEN}`;
    const found = known[path.replace(/^.*\/namespaces\/[a-z]+\//, '')];
    const [status, body] = !isAllowed
      ? [401, { reason: 'Unauthorized', message: 'Unauthorized' }]
      : found === undefined
        ? [404, { reason: 'NotFound', message: `"${path}" not found` }]
        : [200, found];
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  const sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => (offered.has(PROTOCOL) ? PROTOCOL : false),
  });
  server.on('upgrade', (request, socket, head) => {
    calls.push(`UPGRADE ${request.url}`);
    const isAllowed = request.headers.authorization === `Bearer ${TOKEN}`;
    if (options.forwardTo === null || !isAllowed || !FORWARD_PATH.test(request.url ?? '')) {
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
      return;
    }
    const port = options.forwardTo;
    sockets.handleUpgrade(request, socket, head, (channel) => {
      channels.add(channel);
      channel.once('close', () => channels.delete(channel));
      pipe(channel, port);
    });
  });
  const listening = await listen(server, { host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    for (const channel of channels) channel.terminate();
    await listening.close(AbortSignal.abort());
  });
  const kubeconfig = join(await temporaryDirectory(), 'config');
  const config = {
    clusters: [{ name: 'c', cluster: { server: listening.url, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token: TOKEN } }],
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', namespace: 'team' } }],
    'current-context': 'here',
  };
  await writeFile(kubeconfig, stringify(config));
  return {
    env: { KUBECONFIG: kubeconfig },
    calls,
    get forwarded() {
      return channels.size;
    },
  };
}

/** Source: Kubernetes API reference, "portforward": each channel begins with its port, little endian. */
function pipe(channel: WebSocket, port: number): void {
  for (const number of [0, 1]) channel.send(Buffer.from([number, 0x91, 0x1f]));
  const upstream = connect(port, '127.0.0.1');
  upstream.on('data', (bytes: Buffer) => channel.send(Buffer.concat([Buffer.from([0]), bytes])));
  upstream.on('close', () => channel.close());
  upstream.on('error', () => channel.close());
  channel.on('message', (message: Buffer) => {
    if (message[0] === 0) upstream.write(message.subarray(1));
  });
  channel.on('close', () => upstream.destroy());
}
