import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { stringify } from 'yaml';
import { freePorts } from './free-ports.ts';
import { kubeTools } from './kube-tools.ts';
import { until } from './until.ts';

/** Another process may take a port between its choice and its use. */
const ATTEMPTS = 3;
const SIGTERM_GRACE_MS = 3_000;

/** What a client of an API server needs to know. */
export interface KubeAccess {
  readonly url: string;
  /** Token of a member of system:masters. */
  readonly token: string;
  /** PEM of the certificates to trust. */
  readonly ca: string;
  /** A kubeconfig file for {@link token}. */
  readonly kubeconfig: string;
  /** A folder that is removed at the end. */
  readonly directory: string;
}

/** An API server, and a client of it. */
export interface KubeApi extends KubeAccess {
  /** Sends a request to the API server. A body is sent as JSON unless it is text. */
  request(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    options?: {
      readonly body?: object | string;
      readonly contentType?: string;
      readonly accept?: string;
      readonly token?: string;
    },
  ): Promise<KubeAnswer>;
}

/** A real kube-apiserver with its etcd, without any controller. */
export interface KubeControlPlane extends KubeApi {
  /** Stops the API server alone; its stored data stays. */
  stopApiServer(): Promise<void>;
  /** Starts it again, on the same port, and waits until it answers. */
  startApiServer(): Promise<void>;
  stop(): Promise<void>;
}

/** An answer of the API server. */
export interface KubeAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Options of a control plane. */
export interface ControlPlaneOptions {
  /** Further tokens: token to user and groups, for tests of RBAC. */
  readonly users?: Readonly<Record<string, { readonly name: string; readonly groups: readonly string[] }>>;
}

/**
 * Starts etcd and kube-apiserver on loopback and waits until they answer; a few seconds and some 300 MiB.
 *
 * @returns `null` when the programs are missing and cannot be built here
 */
export async function startKubeControlPlane(
  options: ControlPlaneOptions = {},
): Promise<KubeControlPlane | null> {
  const programs = kubeTools('etcd', 'kube-apiserver');
  if (programs === null) return null;
  for (let attempt = 1; ; attempt += 1) {
    const directory = await mkdtemp(join(tmpdir(), 'slipway-kube-'));
    try {
      return await start(directory, programs, options);
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

async function start(
  directory: string,
  programs: Record<'etcd' | 'kube-apiserver', string>,
  options: ControlPlaneOptions,
): Promise<KubeControlPlane> {
  const [clientPort = 0, peerPort = 0, port = 0] = await freePorts(3);
  const etcdUrl = `http://127.0.0.1:${clientPort}`;
  const peerUrl = `http://127.0.0.1:${peerPort}`;
  const url = `https://127.0.0.1:${port}`;
  const token = randomBytes(16).toString('hex');
  const certificates = join(directory, 'certificates');
  await mkdir(certificates);
  await writeTokens(join(directory, 'tokens.csv'), token, options.users ?? {});
  await writeServiceAccountKeys(directory);

  const etcd = run(directory, programs.etcd, [
    `--data-dir=${join(directory, 'etcd')}`,
    `--listen-client-urls=${etcdUrl}`,
    `--advertise-client-urls=${etcdUrl}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    '--unsafe-no-fsync',
    '--log-level=error',
  ]);
  const apiServerArguments = [
    `--etcd-servers=${etcdUrl}`,
    `--secure-port=${port}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    '--authorization-mode=RBAC',
    `--token-auth-file=${join(directory, 'tokens.csv')}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${join(directory, 'service-account.pub')}`,
    `--service-account-signing-key-file=${join(directory, 'service-account.key')}`,
    '--allow-privileged=true',
    // Nothing creates the ServiceAccount of a namespace here.
    '--disable-admission-plugins=ServiceAccount',
    `--cert-dir=${certificates}`,
  ];
  let apiServer = run(directory, programs['kube-apiserver'], apiServerArguments);
  const stop = async (): Promise<void> => {
    // Without etcd the API server never ends by itself.
    await end(apiServer);
    await end(etcd);
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const ca = await until(async () => {
      if (etcd.ended() || apiServer.ended()) return '';
      return await readFile(join(certificates, 'apiserver.crt'), 'utf8');
    });
    const kubeconfig = join(directory, 'kubeconfig');
    await writeFile(kubeconfig, renderKubeconfig(url, ca, token), { mode: 0o600 });
    const api = connectKubeApi({ url, token, ca, kubeconfig, directory });
    const ready = async (): Promise<void> => {
      await until(async () => {
        if (etcd.ended() || apiServer.ended()) return true;
        if ((await api.request('GET', '/readyz')).status !== 200) return false;
        // The API server creates it shortly after it reports ready.
        return (await api.request('GET', '/api/v1/namespaces/default')).status === 200;
      });
      if (etcd.ended() || apiServer.ended()) {
        throw new Error(`the control plane ended while it started:\n${etcd.output()}\n${apiServer.output()}`);
      }
    };
    await ready();
    return {
      ...api,
      stopApiServer: async () => {
        await end(apiServer);
      },
      startApiServer: async () => {
        apiServer = run(directory, programs['kube-apiserver'], apiServerArguments);
        await ready();
      },
      stop: async () => {
        await api.close();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Connects to an API server that runs. */
export function connectKubeApi(access: KubeAccess): KubeApi & { close(): Promise<void> } {
  const agent = new Agent({ connect: { ca: access.ca } });
  return {
    ...access,
    request: async (method, path, { body, contentType, accept, token } = {}) => {
      const answer = await request(access.url + path, {
        method,
        dispatcher: agent,
        headers: {
          authorization: `Bearer ${token ?? access.token}`,
          'content-type': contentType ?? 'application/json',
          ...(accept === undefined ? {} : { accept }),
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await answer.body.text();
      const isJson = String(answer.headers['content-type']).includes('json');
      return { status: answer.statusCode, body: isJson ? (JSON.parse(text) as unknown) : text };
    },
    close: async () => {
      await agent.close();
    },
  };
}

interface RunningProgram {
  readonly child: ChildProcess;
  ended(): boolean;
  /** The end of its output. */
  output(): string;
}

function run(directory: string, program: string, args: readonly string[]): RunningProgram {
  const child = spawn(program, args, { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString('utf8')).slice(-8_192);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  let failed = false;
  child.once('error', (error) => {
    failed = true;
    output += error.message;
  });
  return {
    child,
    ended: () => failed || child.exitCode !== null || child.signalCode !== null,
    output: () => output,
  };
}

async function end(program: RunningProgram): Promise<void> {
  if (program.ended()) return;
  const { child } = program;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  child.kill('SIGCONT');
  const timer = setTimeout(() => child.kill('SIGKILL'), SIGTERM_GRACE_MS);
  await exited;
  clearTimeout(timer);
}

async function writeTokens(
  file: string,
  token: string,
  users: NonNullable<ControlPlaneOptions['users']>,
): Promise<void> {
  const rows = Object.entries({ [token]: { name: 'admin', groups: ['system:masters'] }, ...users });
  const text = rows.map(([each, { name, groups }]) => `${each},${name},${name},"${groups.join(',')}"\n`);
  await writeFile(file, text.join(''), { mode: 0o600 });
}

async function writeServiceAccountKeys(directory: string): Promise<void> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  await writeFile(join(directory, 'service-account.key'), privateKey, { mode: 0o600 });
  await writeFile(join(directory, 'service-account.pub'), publicKey);
}

function renderKubeconfig(url: string, ca: string, token: string): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'test',
        cluster: { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') },
      },
    ],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
    'current-context': 'test',
  });
}
