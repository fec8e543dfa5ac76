import { exampleOf } from '../../scripts/reference/examples.ts';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { HealthAnswer, type Health } from '../../src/contract/schemas/answers/health.ts';
import type {
  ReleaseRow,
  ReleaseStatus,
  ReportedSchedule,
  TranslationStatus,
} from '../../src/operator/pods/server-client.ts';
import type { DaemonCondition } from '../../src/domain/service-state/daemon-conditions.ts';
import type { Reason } from '../../src/domain/verdict/reasons.ts';
import { serviceOf } from './service-answer.ts';
import type { AtEnd } from './shared-fixture.ts';

/** The token that a fake server accepts at first. */
export const FAKE_TOKEN = 'fake-admin-token';

/** A control action as it arrived. */
export interface ReceivedAction {
  readonly action: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly key: string | null;
}

/** A refusal that a test prescribes. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  /** Status and code of the daemon, if the daemon refused. */
  readonly daemon?: { readonly status: number; readonly code: string };
}

/** The part of a slipway-server that the operator talks to, over real HTTP, in the state that a test sets. */
export interface FakeSlipway {
  readonly port: number;
  /** Accepted tokens. */
  readonly tokens: Set<string>;
  readonly schedules: Map<string, ReportedSchedule>;
  /** Completed actions, in order. Repetitions under one key count once. */
  readonly actions: ReceivedAction[];
  /** Requests received, of any kind. */
  readonly requests: string[];
  /** Current releases. */
  readonly current: { official: string | null; localized: string | null };
  readonly history: ReleaseRow[];
  /** The official release that the current localized one is built on. */
  base: string;
  /** Its report of translations. */
  translation: TranslationStatus;
  /** Why its last task failed, or `null`. */
  failure: { readonly code: string; readonly reason: string } | null;
  /** How its syncs go. */
  sync: ReleaseStatus['sync'];
  /** The crash loop that its daemon reports, or `null`. */
  crashLoop: ReleaseStatus['crash_loop'];
  /** Whether its daemon answers. */
  daemonState: Health['daemon'];
  /** The conditions that its daemon tells; `undefined` for those that its verdicts suggest. */
  conditions: readonly DaemonCondition[] | undefined;
  /** Why a channel is not distributable; `null` when it is. */
  setVerdict(channel: 'official' | 'localized', reason: Reason | null, releaseId?: string): void;
  /** Answers this to every admin request, or to one action; `null` ends the refusal. */
  refuse(refusal: Refusal | null, action?: string): void;
  /** Answers this to reads of a path. */
  failRead(path: string, refusal: Refusal): void;
  /** The result of a release action. By default it succeeds and makes the release current. */
  taskStatus: 'queued' | 'running' | 'succeeded' | 'failed';
  /** Stops answering, or answers again. */
  setSilent(silent: boolean): void;
  /** Ends every connection from now on. */
  close(): void;
}

const NOW = 1_780_000_000;
const DAEMON = { version: '0.1.0', boot_id: 'fake' };

/** Starts a fake server. By default it stops with the running test. */
export async function startFakeSlipway(atEnd: AtEnd = onTestFinished): Promise<FakeSlipway> {
  const tokens = new Set([FAKE_TOKEN]);
  const schedules = new Map<string, ReportedSchedule>();
  const actions: ReceivedAction[] = [];
  const requests: string[] = [];
  const current: FakeSlipway['current'] = { official: 'r1', localized: null };
  const history: ReleaseRow[] = [releaseRow('official', 'r1', 'current')];
  const health: Health = structuredClone(exampleOf(HealthAnswer));
  const refusals = new Map<string, Refusal>();
  const done = new Map<string, string>();
  let silent = false;

  const setVerdict: FakeSlipway['setVerdict'] = (channel, reason, releaseId) => {
    const id = releaseId ?? current[channel];
    health.verdicts[channel] = {
      distributable: reason === null,
      reason,
      message: reason === null ? `release ${id} is attested and fully represented` : `because of ${reason}`,
      since: NOW,
      release_id: id,
    };
  };
  setVerdict('official', null);
  setVerdict('localized', 'ReleaseNotAuthorized');

  const currentRelease = (id: string | null): ReleaseStatus['official'] =>
    id === null
      ? null
      : {
          release_id: id,
          snapshot_id: `blake3:${'0'.repeat(64)}`,
          state: 'current',
          integrity: 'ok',
          verified_at: NOW,
          damaged: [],
          damaged_count: 0,
        };

  const localizedRelease = (): ReleaseStatus['localized'] => {
    const found = currentRelease(current.localized);
    return found === null ? null : { ...found, base_release_id: fake.base };
  };

  const report = (url: URL): object | null => {
    const envelope = { generated_at: NOW, daemon: DAEMON };
    switch (url.pathname) {
      case '/admin/releases/status':
        return {
          report: 'release.status',
          ...envelope,
          official: currentRelease(current.official),
          localized: localizedRelease(),
          relation: relationOf(fake),
          attestation: null,
          announced: null,
          announced_localized: null,
          sync: fake.sync,
          upstream: null,
          crash_loop: fake.crashLoop,
        };
      case '/admin/translation/status':
        return { report: 'translation.status', ...envelope, ...fake.translation };
      case '/admin/tasks/status': {
        const { code = null, reason = null } = fake.failure ?? {};
        return {
          report: 'task.status',
          ...envelope,
          task: { status: fake.taskStatus, failure_code: code, failure_reason: reason },
        };
      }
      case '/admin/releases': {
        const channel = url.searchParams.get('channel');
        const releases = history.filter((row) => row.channel === channel);
        return { report: 'release.list', ...envelope, total: releases.length, releases };
      }
      case '/admin/schedules': {
        const items = [...schedules.values()];
        return { report: 'schedule.list', ...envelope, total: items.length, items };
      }
      default:
        return null;
    }
  };

  const act = (received: ReceivedAction, response: ServerResponse, taskStatus: string): void => {
    const { action, body, key } = received;
    const refusal = refusals.get(action);
    if (refusal !== undefined) {
      sendProblem(response, refusal);
      return;
    }
    const repeated = key === null ? undefined : done.get(key);
    if (repeated === undefined) {
      const missing = applySchedule(schedules, action, body);
      if (missing !== null) {
        sendProblem(response, { status: 502, code: 'daemon_rejected', daemon: missing });
        return;
      }
      actions.push(received);
      if (key !== null) done.set(key, action);
      const release = body['localized_release_id'];
      if (typeof release === 'string' && taskStatus === 'succeeded') {
        current.localized = release;
        setVerdict('localized', null);
      }
    }
    send(response, 202, {
      accepted: true,
      action,
      task_id: '01KAJ2X6V5Q0E8T9R3W7Y1Z4BC',
      status: action.startsWith('schedule-') ? 'succeeded' : taskStatus,
      deduplicated: repeated !== undefined,
      ignored_fields: [],
    });
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '', 'http://fake');
    requests.push(`${request.method} ${url.pathname}`);
    if (silent) return;
    if (url.pathname === '/healthz') {
      const service = serviceOf(health.verdicts, fake.conditions);
      send(response, 200, { ...health, service, daemon: fake.daemonState });
      return;
    }
    const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
    const refusal = refusals.get('');
    if (refusal !== undefined) sendProblem(response, refusal);
    else if (!tokens.has(token)) sendProblem(response, { status: 401, code: 'not_authenticated' });
    else if (request.method === 'POST') {
      const action = url.pathname.slice('/admin/control/'.length);
      const body = JSON.parse(await text(request)) as ReceivedAction['body'];
      const key = request.headers['idempotency-key'];
      act({ action, body, key: typeof key === 'string' ? key : null }, response, fake.taskStatus);
    } else {
      const found = report(url);
      const failing = refusals.get(url.pathname);
      if (failing !== undefined) sendProblem(response, failing);
      else if (found === null) sendProblem(response, { status: 404, code: 'not_found' });
      else send(response, 200, found);
    }
  };

  const server = createServer((request, response) => {
    void answer(request, response);
  });
  let isClosed = false;
  server.on('connection', (socket) => {
    if (isClosed) socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  atEnd(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const fake: FakeSlipway = {
    port,
    tokens,
    schedules,
    actions,
    requests,
    current,
    history,
    base: 'r1',
    translation: translationStatus({ base: null }),
    failure: null,
    sync: { last: null, next_at: null, consecutive_failures: 0 },
    crashLoop: null,
    daemonState: health.daemon,
    conditions: undefined,
    setVerdict,
    refuse: (refusal, action = '') => {
      if (refusal === null) refusals.delete(action);
      else refusals.set(action, refusal);
    },
    failRead: (path, refusal) => {
      refusals.set(path, refusal);
    },
    taskStatus: 'succeeded',
    setSilent: (value) => {
      silent = value;
    },
    // It keeps its port, which another server of the tests would take: it would be the same pod for the operator.
    close: () => {
      isClosed = true;
      server.closeAllConnections();
    },
  };
  return fake;
}

function relationOf({ current, base }: FakeSlipway): ReleaseStatus['relation'] {
  if (current.localized === null) return 'no_localized';
  return base === current.official ? 'in_sync' : 'stale';
}

/** A report of translations: 20 units, of which the blockers count some. */
export function translationStatus(
  state: {
    /** The base of the current localized release; `null` when there is none. */
    readonly base?: string | null;
    readonly stale?: boolean;
    readonly blockers?: ReadonlyArray<readonly [code: string, count: number]>;
    readonly skipped?: number;
    /** Absent: all units that no blocker counts. */
    readonly publishable?: number | null;
  } = {},
): TranslationStatus {
  const { base = 'r1', stale = false, blockers = [], skipped = 0 } = state;
  const unblocked = blockers.reduce((rest, [, count]) => rest - count, 20);
  return {
    current: base === null ? null : { localized_release_id: 'l1', base_release_id: base, stale },
    automation: { state: 'off', message: 'localized.auto is off' },
    history: [],
    coverage: {
      release_id: stale ? 'r2' : 'r1',
      target_language: 'zh-Hans',
      units: 20 + skipped,
      accepted: 11,
      translated: 12,
      blocked: 0,
      skipped,
      publishable: state.publishable === undefined ? unblocked : state.publishable,
    },
    publish_blockers: blockers.map(([code, count]) => ({ code, message: `because of ${code}`, count })),
  };
}

/** A release of the history. */
export function releaseRow(
  channel: ReleaseRow['channel'],
  id: string,
  state: ReleaseRow['state'],
): ReleaseRow {
  return {
    release_id: id,
    channel,
    state,
    created_at: NOW - 100,
    published_at: NOW - 50,
    manifest: null,
    artifact_integrity: { checked_at: NOW, ok: true, damaged: 0 },
  };
}

/** Applies a schedule action; returns the daemon's refusal when it cannot. */
function applySchedule(
  schedules: Map<string, ReportedSchedule>,
  action: string,
  body: ReceivedAction['body'],
): { status: number; code: string } | null {
  const id = String(body['id']);
  const before = schedules.get(id);
  if (action === 'schedule-add') {
    if (before !== undefined) return { status: 409, code: 'schedule_exists' };
    schedules.set(id, { ...NEW_SCHEDULE, ...body });
  } else if (action === 'schedule-update' || action === 'schedule-remove') {
    if (before === undefined) return { status: 404, code: 'unknown_schedule' };
    if (action === 'schedule-remove') schedules.delete(id);
    else schedules.set(id, { ...before, ...body });
  }
  return null;
}

const NEW_SCHEDULE: ReportedSchedule = {
  id: '',
  group: 'res',
  origin: 'controller',
  replaced_by: null,
  action: '',
  args: [],
  enabled: true,
  next_run_unix_seconds: NOW,
  every_seconds: null,
  max_runs: null,
  run_count: 0,
  last_run_unix_seconds: null,
  last_task_id: null,
  last_status: null,
  skipped_overlap: 0,
  exhausted: false,
};

function sendProblem(response: ServerResponse, { status, code, daemon }: Refusal): void {
  send(response, status, {
    type: `https://slipway.dev/problems/${code}`,
    title: code,
    status,
    detail: `refused: ${code}`,
    instance: 'fake',
    code,
    ...(daemon === undefined ? {} : { daemon }),
  });
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
