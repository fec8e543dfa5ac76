import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { readTokenFile } from '../../src/platform/files/token-file.ts';
import { makeKeys } from './make-keys.ts';
import { freePorts } from './free-ports.ts';
import { startSlipway, type SlipwayProcess } from './process.ts';
import type { AtEnd } from './shared-fixture.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { until, WAIT_MS } from './until.ts';

/** Lines of the log that an error shows. */
const LOG_LINES = 30;

/** The CDN host that the tests use. */
export const CDN_HOST = 'cdn.test.invalid';

/** For tests that read no text: to index the text of a release costs a daemon as much as to sync a small one. */
export const WITHOUT_TEXTS = { parse: { automatic: false } } as const;

/** A whole Slipway on temporary folders and free ports: a daemon, a server, a volume, keys. */
export interface TestSystem {
  readonly directory: string;
  readonly snapshotRoot: string;
  readonly daemonConfiguration: string;
  readonly serverConfiguration: string;
  readonly serverUrl: string;
  readonly metricsUrl: string;
  readonly daemonUrl: string;
  /** The token file of the daemon; the daemon creates it. */
  readonly daemonTokenFile: string;
  daemon: SlipwayProcess;
  server: SlipwayProcess;
  startDaemon(wrapper?: readonly string[]): Promise<SlipwayProcess>;
  startServer(wrapper?: readonly string[]): Promise<SlipwayProcess>;
  /** Waits until `/readyz` reports this readiness. */
  untilReady(ready: boolean, deadlineMs?: number): Promise<Readyz>;
  /** Requests a path of the daemon with its token. */
  askDaemon(path: string, init?: RequestInit): Promise<Response>;
  /** Posts a control action to the daemon and returns its 202 body. */
  control(action: string, body?: object): Promise<ControlAnswer>;
  /** Waits until the task of a control action has ended. */
  ended(accepted: Pick<ControlAnswer, 'task_id'>, deadlineMs?: number): Promise<TaskBody>;
  /** Posts an action and waits for the end of its task, which began after the call. */
  run(action: string, body?: object, deadlineMs?: number): Promise<TaskBody>;
  /** Runs an action whose task must succeed. The error of another outcome has its reason and the end of the daemon's log. */
  succeed(action: string, body?: object, deadlineMs?: number): Promise<TaskBody>;
  /** The URL of a destination under the current release's immutable path. */
  cdn(path: string): string;
}

/** The body of the 202 to a control action. */
export interface ControlAnswer {
  readonly task_id: string;
  readonly status: string;
  /** Whether the call joined a task that was there. */
  readonly deduplicated: boolean;
}

/** The body of `/readyz`. */
export interface Readyz {
  readonly distributable: boolean;
  readonly reason: string | null;
  readonly message: string;
  readonly release_id: string | null;
  readonly snapshot_id: string | null;
  readonly attestation: { readonly version: number } | null;
}

/** A task as task.status reports it. */
export interface TaskBody {
  readonly task_id: string;
  readonly status: string;
  readonly result: Record<string, unknown> | null;
  readonly failure_code: string | null;
  readonly failure_reason: string | null;
}

/** Options of a system. */
export interface SystemOptions {
  readonly upstream: object;
  /** Merged over the daemon's configuration, section by section. */
  readonly daemon?: Readonly<Record<string, object>>;
  /** Merged over the server's configuration. */
  readonly server?: Readonly<Record<string, object>>;
  /** Path of the snapshot volume, if not in the temporary folder. */
  readonly snapshotRoot?: string;
  /** Path of the data folder, if not in the temporary folder. */
  readonly dataDirectory?: string;
  /** Whether a supervisor runs the daemon; `daemon` is then the supervisor. */
  readonly supervised?: boolean;
  /** Starts neither process. */
  readonly startNothing?: boolean;
  /** Runs both processes with the heap settings of users. */
  readonly measuresMemory?: boolean;
  /** By default it stops with the running test. */
  readonly atEnd?: AtEnd;
}

/** Starts a system of a daemon and a server. */
export async function startSystem(options: SystemOptions): Promise<TestSystem> {
  const atEnd: AtEnd = options.atEnd ?? onTestFinished;
  const directory = await temporaryDirectory(atEnd);
  const settings = await writeSettings(directory, options);
  const running = new Set<SlipwayProcess>();
  atEnd(async () => {
    await Promise.all([...running].map(async (each) => await each.kill()));
  });
  const start = async (
    program: 'daemon' | 'daemon-supervisor' | 'server',
    configuration: string,
    wrapper: readonly string[] | undefined,
  ): Promise<SlipwayProcess> => {
    const started = await startSlipway(program, ['--config', configuration], {
      ...(wrapper === undefined ? {} : { wrapper }),
      ...(options.measuresMemory === undefined ? {} : { measuresMemory: options.measuresMemory }),
    });
    running.add(started);
    void started.exited.then(() => running.delete(started));
    return started;
  };
  const system: Omit<TestSystem, 'daemon' | 'server'> & Partial<Pick<TestSystem, 'daemon' | 'server'>> = {
    directory,
    ...settings,
    startDaemon: async (wrapper) => {
      const program = options.supervised === true ? 'daemon-supervisor' : 'daemon';
      system.daemon = await start(program, settings.daemonConfiguration, wrapper);
      return system.daemon;
    },
    startServer: async (wrapper) => {
      system.server = await start('server', settings.serverConfiguration, wrapper);
      return system.server;
    },
    ...serverQuestions(settings.serverUrl),
    ...daemonControl(settings),
    succeed: async (action, body, deadlineMs) => {
      const task = await system.run(action, body, deadlineMs);
      if (task.status === 'succeeded') return task;
      const { status, failure_code: code, failure_reason: reason } = task;
      const log = system.daemon?.lines.slice(-LOG_LINES).join('\n') ?? '';
      throw new Error(`${action} is ${status}: ${code ?? 'no code'}: ${reason ?? 'no reason'}\n${log}`);
    },
  };
  if (options.startNothing !== true) {
    await Promise.all([system.startDaemon(), system.startServer()]);
  }
  return system as TestSystem;
}

type Settings = Pick<
  TestSystem,
  | 'snapshotRoot'
  | 'daemonConfiguration'
  | 'serverConfiguration'
  | 'serverUrl'
  | 'metricsUrl'
  | 'daemonUrl'
  | 'daemonTokenFile'
>;

/** Makes keys and folders, chooses ports and writes both configuration files. */
async function writeSettings(directory: string, options: SystemOptions): Promise<Settings> {
  const snapshotRoot = options.snapshotRoot ?? join(directory, 'snapshot');
  const dataDirectory = options.dataDirectory ?? join(directory, 'data');
  const keys = join(directory, 'keys');
  await mkdir(snapshotRoot, { recursive: true });
  await makeKeys(keys);
  const [port = 0, metricsPort = 0, daemonPort = 0] = await freePorts(3);
  const settings: Settings = {
    snapshotRoot,
    daemonConfiguration: join(directory, 'daemon.yaml'),
    serverConfiguration: join(directory, 'server.yaml'),
    serverUrl: `http://127.0.0.1:${port}`,
    metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
    daemonUrl: `http://127.0.0.1:${daemonPort}`,
    daemonTokenFile: join(dataDirectory, 'api.token'),
  };
  const daemon = {
    listen: { host: '127.0.0.1', port: daemonPort },
    snapshot: { root: snapshotRoot },
    data: { dir: dataDirectory },
    attestation: { signingKeyFiles: [join(keys, 'signing.key')] },
    upstream: options.upstream,
    // The test decides when damage is repaired.
    repair: { automatic: false },
  };
  const server = {
    listen: { host: '127.0.0.1', port },
    metrics: { host: '127.0.0.1', port: metricsPort },
    publicBaseUrl: settings.serverUrl,
    cdn: { host: CDN_HOST },
    snapshot: { root: snapshotRoot },
    daemon: { url: settings.daemonUrl, tokenFile: settings.daemonTokenFile },
    attestation: { publicKeyFiles: [join(keys, 'signing.pub')] },
    shutdown: { propagationDelaySeconds: 0 },
    // The test decides how damage is found.
    scrub: { enabled: false },
  };
  await writeFile(settings.daemonConfiguration, stringify(merge(daemon, options.daemon ?? {})));
  await writeFile(settings.serverConfiguration, stringify(merge(server, options.server ?? {})));
  return settings;
}

function serverQuestions(serverUrl: string): Pick<TestSystem, 'untilReady' | 'cdn'> {
  let releaseId = '';
  return {
    untilReady: async (ready, deadlineMs = WAIT_MS) =>
      await until(async () => {
        const body = (await (await fetch(`${serverUrl}/readyz`)).json()) as Readyz;
        if (body.release_id !== null) releaseId = body.release_id;
        return body.distributable === ready ? body : null;
      }, deadlineMs),
    cdn: (path) =>
      `${serverUrl}/${CDN_HOST}/${releaseId}/${path.split('/').map(encodeURIComponent).join('/')}`,
  };
}

function daemonControl({
  daemonUrl,
  daemonTokenFile,
}: Settings): Pick<TestSystem, 'askDaemon' | 'control' | 'ended' | 'run'> {
  const askDaemon: TestSystem['askDaemon'] = async (path, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${await readTokenFile(daemonTokenFile)}`);
    return await fetch(`${daemonUrl}${path}`, { ...init, headers });
  };
  const control: TestSystem['control'] = async (action, body = {}) => {
    const response = await askDaemon(`/v1/control/${action}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as ControlAnswer;
    if (response.status !== 202) throw new Error(`${action}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  };
  const ended: TestSystem['ended'] = async ({ task_id }, deadlineMs = WAIT_MS) =>
    await until(async () => {
      const response = await askDaemon(`/v1/reports/task.status?task_id=${task_id}`);
      const { task } = (await response.json()) as { task: TaskBody };
      return ['succeeded', 'failed', 'cancelled'].includes(task.status) ? task : null;
    }, deadlineMs);
  return {
    askDaemon,
    control,
    ended,
    run: async (action, body, deadlineMs) => {
      for (;;) {
        const accepted = await control(action, body);
        const task = await ended(accepted, deadlineMs);
        // Such as the sync of the start: it may have seen the release before.
        if (!accepted.deduplicated || accepted.status !== 'running') return task;
      }
    },
  };
}

function merge(
  base: Readonly<Record<string, unknown>>,
  over: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const current = merged[key];
    merged[key] = isSection(current) && isSection(value) ? merge(current, value) : value;
  }
  return merged;
}

function isSection(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
