import { exampleOf } from '../../scripts/reference/examples.ts';
import { onTestFinished } from 'vitest';
import { CONTROL_ACTIONS } from '../../src/contract/actions/actions.ts';
import { REPORTS, type ReportName } from '../../src/contract/reports/reports.ts';
import { AcceptedAnswer } from '../../src/contract/schemas/answers/admin.ts';
import type { DaemonFault } from './fake-daemon.ts';
import { freePorts } from './free-ports.ts';
import {
  STATUS_CDN_HOST,
  STATUS_FILE,
  STATUS_RELEASE_ID,
  type StatusWorld,
} from './operation-status-cases.ts';
import { sampleFiles, writeReleaseTree } from './release-tree.ts';
import type { AtEnd } from './shared-fixture.ts';
import { startTestServer } from './start-test-server.ts';
import { startSystem } from './system.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { writeTokenFile } from './token-file.ts';
import { until } from './until.ts';

/** A server in one state. */
export interface RunningWorld {
  readonly url: string;
  /** The admin token, whether or not the server knows it. */
  readonly token: string;
  /** A task that exists. */
  readonly taskId: string;
}

/** Daemons that never end an answer use up their whole deadline. The others get enough time for a slow machine. */
const HASTY_MS = 500;
const PATIENT_MS = 10_000;
const TOKEN = 'canary-status-token-31';
const SERVER_INFO = {
  ConnectionGroups: [
    { OverrideConnectionGroups: [{ Name: '1.0', AddressablesCatalogUrlRoot: 'https://a.example/b' }] },
  ],
};

/** Starts a world. It stops with the running test. */
export async function startWorld(world: StatusWorld): Promise<RunningWorld> {
  return world === 'released' || world === 'unsynced'
    ? await startRealWorld(world, onTestFinished)
    : await scriptedWorld(world);
}

/** Starts a daemon and a server. */
export async function startRealWorld(world: 'released' | 'unsynced', atEnd: AtEnd): Promise<RunningWorld> {
  const upstream = await temporaryDirectory(atEnd);
  await writeReleaseTree(upstream, { id: STATUS_RELEASE_ID, files: sampleFiles(), serverInfo: SERVER_INFO });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    daemon: { sync: { onStart: false } },
    server: { admin: { tokenFiles: [await writeTokenFile(TOKEN, atEnd)], exposeControl: true } },
    atEnd,
  });
  if (world === 'unsynced') return { url: system.serverUrl, token: TOKEN, taskId: 'none' };
  const { task_id } = await system.run('sync');
  await system.untilReady(true);
  return { url: system.serverUrl, token: TOKEN, taskId: task_id };
}

async function scriptedWorld(world: Exclude<StatusWorld, 'released' | 'unsynced'>): Promise<RunningWorld> {
  const config = {
    cdn: { host: STATUS_CDN_HOST },
    ...(world === 'locked' ? { auth: { public: 'token' } } : {}),
    ...(world === 'limited' ? { auth: { public: 'token', tokens: [await limitedToken()] } } : {}),
    admin: {
      tokenFiles: world === 'no admin token' || world === 'limited' ? [] : [await writeTokenFile(TOKEN)],
      exposeControl: world !== 'control closed',
    },
  };
  const isEndless = world === 'hang' || world === 'drip' || world === 'huge';
  const server = await startTestServer({
    config,
    refresh: false,
    daemonTimeoutMs: isEndless ? HASTY_MS : PATIENT_MS,
    ...(world === 'absent' ? { daemonUrl: await nobody() } : {}),
  });
  const { daemon, store, parts } = server;
  if (world === 'scripted' || world === 'locked') {
    const official = await store.addRelease({
      releaseId: STATUS_RELEASE_ID,
      files: { [STATUS_FILE]: 'bytes' },
    });
    daemon.setEnvelope(store.attest({ version: 1, issuedAt: Math.floor(Date.now() / 1000), official }));
    parts.room.refresher.start();
    await until(() => parts.room.serving.verdict('official').distributable);
  }
  const answer = ANSWERS[world];
  for (const report of Object.keys(REPORTS) as ReportName[]) {
    if (answer === undefined) daemon.setReport(report, exampleOf(REPORTS[report].answer));
    else daemon.setAnswer(`/v1/reports/${report}`, answer);
  }
  for (const action of CONTROL_ACTIONS) {
    daemon.setAnswer(
      `/v1/control/${action}`,
      answer ?? { status: 202, body: { ...exampleOf(AcceptedAnswer), action } },
    );
  }
  if (isFault(world)) daemon.setFault(world);
  if (world === 'limited') {
    const { status } = await fetch(`${server.url}/v1/release`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    if (status !== 200) throw new Error(`the request that the limit allows got ${status}`);
  }
  return { url: server.url, token: TOKEN, taskId: 'none' };
}

/** A token that may send one request, and another one after a quarter of an hour. */
async function limitedToken(): Promise<object> {
  return {
    file: await writeTokenFile(TOKEN),
    id: 'edge',
    limits: { requestsPerSecond: 0.001, burst: 1, concurrentRequests: 100 },
  };
}

/** The answer of a world's daemon to every request. */
const ANSWERS: Partial<Record<StatusWorld, { readonly status: number; readonly body: object }>> = {
  unavailable: { status: 503, body: { code: 'backend_unavailable', detail: 'down' } },
  unimplemented: { status: 501, body: { code: 'not_implemented', detail: 'not here' } },
  rejecting: { status: 409, body: { code: 'release_protected', detail: 'no' } },
  'bad query': {
    status: 400,
    body: { code: 'invalid_request', detail: 'bad', errors: [{ pointer: 'x', message: 'bad' }] },
  },
};

const FAULTS: ReadonlySet<StatusWorld> = new Set([
  'hang',
  'drip',
  'reset',
  'truncated',
  'garbage',
  'html',
  'coded',
  'huge',
  'refuse',
]);

function isFault(world: StatusWorld): world is StatusWorld & NonNullable<DaemonFault> {
  return FAULTS.has(world);
}

/** An origin without a listener; no other test takes its port. */
async function nobody(): Promise<string> {
  const [port] = await freePorts(1);
  return `http://127.0.0.1:${port}`;
}
