import { CONTROL_ACTIONS } from '../../src/contract/actions/actions.ts';
import { listOperations, type OperationId } from '../../src/contract/operations/operations.ts';
import type { ReportName } from '../../src/contract/reports/reports.ts';

/** The world of a case. */
export type StatusWorld = keyof typeof STATUS_WORLDS;

/** Description of each world, as on the reference page. */
export const STATUS_WORLDS = {
  released: 'real daemon and server, a synced release',
  unsynced: 'real daemon and server, nothing synced yet',
  scripted: 'a daemon that answers the examples of the contract',
  locked: 'a server that requires a token everywhere, with no token or a wrong one',
  limited: 'a server that requires a token everywhere, whose limit is reached',
  'no admin token': 'a server without an admin token',
  'control closed': 'a server that does not expose control',
  absent: 'an unreachable daemon',
  hang: 'a daemon that accepts a request and never answers',
  drip: 'a daemon that sends a byte now and then',
  reset: 'a daemon that aborts the connection',
  truncated: 'a daemon that dies in the middle of its answer',
  garbage: 'a daemon that sends invalid JSON',
  html: 'a daemon that sends HTML',
  coded: 'a daemon that sends an unrequested content coding',
  huge: 'a daemon that sends without end',
  refuse: 'a daemon that answers 500',
  unavailable: 'a daemon whose backend is down',
  unimplemented: 'a daemon that does not implement the request',
  rejecting: 'a daemon that rejects the request',
  'bad query': 'a daemon that rejects the parameters',
} as const;

/** Worlds whose daemon never gives a usable answer. */
export const DAEMON_FAULTS = [
  'absent',
  'hang',
  'drip',
  'reset',
  'truncated',
  'garbage',
  'html',
  'coded',
  'huge',
  'refuse',
] as const satisfies readonly StatusWorld[];

/** One way to get one status of one operation. */
export interface StatusCase {
  readonly operation: OperationId;
  readonly status: number;
  readonly world: StatusWorld;
  /** How the request differs from a plain one, for readers; empty for a plain request. */
  readonly how: string;
  /** Path and query. */
  readonly target: string;
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Whether the admin token is sent. */
  readonly token: boolean;
}

/** The CDN host, the release and a file of it, in every world that has one. */
export const STATUS_CDN_HOST = 'cdn.test.invalid';
export const STATUS_RELEASE_ID = 'r90_one';
export const STATUS_FILE = 'TableBundles/Excel.zip';

const FILE_TARGET = `/${STATUS_CDN_HOST}/${STATUS_RELEASE_ID}/${STATUS_FILE}`;
/** A task of the examples. The real daemon gets the id of a real task instead. */
export const TASK_PLACEHOLDER = 'TASK';

/** Required query of an operation. */
const REQUIRED: Partial<Record<ReportName, string>> = {
  'task.status': `?task_id=${TASK_PLACEHOLDER}`,
  'task.logs': `?task_id=${TASK_PLACEHOLDER}`,
  'translation.memory.query': '?source_text=x',
  'translation.glossary.diagnose': '?source_text=x',
};
/** Reports that are also requested from the real daemon. */
const REAL_REPORTS: ReadonlySet<ReportName> = new Set([
  'daemon.doctor',
  'daemon.logs',
  'task.list',
  'task.status',
  'task.logs',
  'schedule.list',
  'release.status',
  'release.list',
  'parse.status',
  'parse.text_units',
  'parse.errors',
  'translation.tasks',
  'translation.handoff',
  'translation.status',
  'translation.memory.summary',
  'translation.memory.query',
  'translation.memory.conflicts',
  'translation.glossary.summary',
  'translation.glossary.query',
  'translation.glossary.diagnose',
]);

/** Methods as they are sent. */
const METHODS = { get: 'GET', head: 'HEAD', post: 'POST' } as const;

type Request = Partial<Pick<StatusCase, 'target' | 'method' | 'headers' | 'body' | 'token'>>;

/** Every operation with every status that the specification allows, and every tested way to get it. */
export const STATUS_CASES: readonly StatusCase[] = [
  ...publicCases(),
  ...listOperations().flatMap(({ id, auth, daemon, path }) =>
    auth === 'admin' && daemon !== undefined && 'report' in daemon ? readCases(id, path, daemon.report) : [],
  ),
  entry('getAdminIndex', 200, 'released'),
  entry('getAdminIndex', 400, 'released', 'an unknown parameter', { target: '/admin/?unknown=1' }),
  entry('getAdminIndex', 401, 'locked', 'no token', { token: false }),
  entry('getDashboard', 200, 'released', 'no token', { token: false }),
  ...controlCases(),
  ...limitedCases(),
];

/** Every operation that takes a token, with one that has reached its limit. */
function limitedCases(): StatusCase[] {
  return listOperations()
    .filter(({ auth }) => auth !== 'none')
    .map(({ id, path, method }) =>
      entry(id, 429, 'limited', '', {
        target:
          id === 'getResource' || id === 'headResource' ? FILE_TARGET : path.replace('{action}', 'sync'),
        method: METHODS[method],
      }),
    );
}

function publicCases(): StatusCase[] {
  const unauthenticated = listOperations()
    .filter(({ auth, method }) => auth === 'public' && method === 'get')
    .map(({ id, path }) =>
      entry(id, 401, 'locked', 'no token', {
        token: false,
        ...(id === 'getResource' ? { target: FILE_TARGET } : { target: path }),
      }),
    );
  const plain: ReadonlyArray<readonly [OperationId, StatusWorld]> = [
    ['getHealth', 'released'],
    ['getHealth', 'unsynced'],
    ['getReadiness', 'released'],
    ['getBootstrap', 'released'],
    ['getLauncherBootstrap', 'released'],
    ['getLauncherGameConfig', 'released'],
    ['getLauncherGameConfig', 'unsynced'],
    ['getLauncherConfigJson', 'released'],
    ['getLauncherCdn', 'released'],
    ['getRelease', 'released'],
    ['getRelease', 'unsynced'],
    ['listReleases', 'released'],
    ['listReleases', 'unsynced'],
    ['getDistribution', 'released'],
    ['listResources', 'released'],
    ['getServerInfo', 'released'],
    ['getOpenApi', 'released'],
  ];
  const notDistributable: readonly OperationId[] = [
    'getReadiness',
    'getBootstrap',
    'getLauncherBootstrap',
    'listResources',
    'getServerInfo',
  ];
  const resource = (
    status: number,
    world: StatusWorld,
    how: string,
    headers: Record<string, string>,
    target = FILE_TARGET,
  ): StatusCase[] => [
    entry('getResource', status, world, how, { target, headers }),
    ...(status === 206 || status === 416
      ? []
      : [entry('headResource', status, world, how, { target, headers, method: 'HEAD' })]),
  ];
  return [
    ...plain.map(([id, world]) => entry(id, 200, world)),
    ...notDistributable.map((id) => entry(id, 503, 'unsynced')),
    ...unauthenticated,
    entry('headResource', 401, 'locked', 'no token', { token: false, target: FILE_TARGET, method: 'HEAD' }),
    entry('getRelease', 304, 'released', '`If-None-Match`', { headers: { 'if-none-match': '*' } }),
    entry('listReleases', 400, 'released', '`channel` that does not exist', {
      target: '/v1/releases?channel=x',
    }),
    entry('getDistribution', 400, 'released', '`limit` below its bound', {
      target: '/v1/distribution?limit=0',
    }),
    entry('getDistribution', 200, 'released', 'one `destination`', {
      target: `/v1/distribution?destination=${encodeURIComponent(STATUS_FILE)}`,
    }),
    entry('getDistribution', 404, 'released', 'a `destination` that is not in the release', {
      target: '/v1/distribution?destination=none',
    }),
    entry('getDistribution', 409, 'released', 'a channel without a release', {
      target: '/v1/distribution?channel=localized',
    }),
    entry('getDistribution', 409, 'unsynced'),
    entry('listResources', 400, 'released', '`offset` below its bound', {
      target: '/v1/resources?offset=-1',
    }),
    entry('getServerInfo', 404, 'scripted', 'a release without a server-info document'),
    ...[...DAEMON_FAULTS, 'unavailable' as const].flatMap((fault) => [
      entry('listReleases', 503, fault),
      entry('getDistribution', 503, fault, 'a release that only the daemon may know', {
        target: '/v1/distribution?release_id=r1',
      }),
    ]),
    ...resource(200, 'released', '', {}),
    ...resource(206, 'released', '`Range`', { range: 'bytes=1-9' }),
    ...resource(304, 'released', '`If-None-Match`', { 'if-none-match': '*' }),
    ...resource(404, 'released', 'a destination that is not in the release', {}, `${FILE_TARGET}.none`),
    ...resource(412, 'released', '`If-Match`', { 'if-match': '"other"' }),
    ...resource(416, 'released', '`Range` past the end', { range: 'bytes=99999999-' }),
    ...resource(503, 'unsynced', 'the current release', {}, `/${STATUS_CDN_HOST}/${STATUS_FILE}`),
  ];
}

function readCases(id: OperationId, path: string, report: ReportName): StatusCase[] {
  const target = `${path}${REQUIRED[report] ?? ''}`;
  const unknown = `${target}${target.includes('?') ? '&' : '?'}unknown=1`;
  return [
    ...(REAL_REPORTS.has(report) ? [entry(id, 200, 'released', '', { target })] : []),
    entry(id, 200, 'scripted', '', { target }),
    entry(id, 400, 'scripted', 'an unknown parameter', { target: unknown }),
    entry(id, 400, 'bad query', '', { target }),
    ...(target === path ? [] : [entry(id, 400, 'scripted', 'a missing parameter', { target: path })]),
    ...(report === 'task.status' || report === 'task.logs'
      ? [entry(id, 400, 'released', 'a task that does not exist', { target: `${path}?task_id=none` })]
      : []),
    entry(id, 401, 'locked', 'no token', { target, token: false }),
    entry(id, 401, 'locked', 'a wrong token', {
      target,
      token: false,
      headers: { authorization: 'Bearer wrong' },
    }),
    entry(id, 401, 'no admin token', '', { target }),
    // A report that is cut off cuts the response, which then has no status.
    ...[...DAEMON_FAULTS, 'unavailable' as const, 'unimplemented' as const]
      .filter((fault) => fault !== 'truncated')
      .map((fault) => entry(id, 503, fault, '', { target })),
  ];
}

function controlCases(): StatusCase[] {
  const post = (
    status: number,
    world: StatusWorld,
    how: string,
    action: string,
    request: Request = {},
  ): StatusCase =>
    entry('postControl', status, world, how, {
      target: `/admin/control/${action}`,
      method: 'POST',
      ...request,
    });
  const json = { 'content-type': 'application/json' };
  return [
    post(202, 'released', 'a queued action', 'sync'),
    post(202, 'released', 'an inline action', 'reload'),
    ...CONTROL_ACTIONS.map((action) => post(202, 'scripted', `\`${action}\``, action, goodBody(action))),
    post(400, 'released', 'a field that no action has', 'sync', { body: '{"colour":1}', headers: json }),
    post(400, 'released', 'a body that is not JSON', 'sync', { body: '{', headers: json }),
    post(400, 'released', 'a required field is missing', 'task-cancel', { body: '{}', headers: json }),
    post(400, 'released', 'an action that the group cannot run', 'schedule-add', {
      body: '{"group":"res","action":"publish","every_seconds":60}',
      headers: json,
    }),
    post(400, 'bad query', 'a body that the daemon rejects', 'sync'),
    post(401, 'locked', 'no token', 'sync', { token: false }),
    post(401, 'locked', 'a wrong token', 'sync', {
      token: false,
      headers: { authorization: 'Bearer wrong' },
    }),
    post(403, 'no admin token', '', 'sync'),
    post(403, 'control closed', '', 'sync'),
    post(404, 'released', 'an action that does not exist', 'launch'),
    post(413, 'released', 'a body of more than 1 MiB', 'sync', {
      body: ' '.repeat(1024 * 1024 + 1),
      headers: json,
    }),
    post(415, 'released', 'a body of another type', 'sync', {
      body: '{}',
      headers: { 'content-type': 'text/plain' },
    }),
    post(501, 'unimplemented', '', 'sync'),
    post(502, 'released', 'a task that does not exist', 'task-cancel', {
      body: '{"task_id":"none"}',
      headers: json,
    }),
    post(502, 'rejecting', '', 'sync'),
    ...DAEMON_FAULTS.map((fault) => post(502, fault, '', 'sync')),
  ];
}

/** A body that is valid for an action as far as can be checked without state. */
function goodBody(action: (typeof CONTROL_ACTIONS)[number]): Request {
  const bodies: Partial<Record<typeof action, object>> = {
    'schedule-add': { group: 'res', action: 'verify', every_seconds: 60 },
    'schedule-update': { id: 'a', enabled: true },
    'schedule-remove': { id: 'a' },
    'schedule-run': { id: 'a' },
    'task-cancel': { task_id: 'a' },
    'translation-task-update': { task_id: 'a', provider_run_id: 'b' },
    'translation-memory-confirm': { record_id: 'a', reviewer: 'b' },
    'translation-memory-resolve-conflict': {
      winner_record_id: 'a',
      expected_trusted_record_ids: ['a', 'b'],
      reviewer: 'c',
      reason: 'd',
    },
    'translation-glossary-add': {
      source_term: 'a',
      recommended_translation: 'b',
      source_language: 'ja',
      target_language: 'en',
      source: { source_kind: 'manual', observed_unix_seconds: 1 },
    },
    'translation-glossary-update': { term_id: 'a', category: 'b' },
    'translation-glossary-approve': { term_id: 'a', reviewer: 'b' },
    'translation-glossary-deprecate': { term_id: 'a', reviewer: 'b', reason: 'c' },
    'translation-glossary-delete': { term_id: 'a' },
    'localized-publish': { from_worker: true },
  };
  const body = bodies[action];
  return body === undefined
    ? {}
    : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
}

function entry(
  operation: OperationId,
  status: number,
  world: StatusWorld,
  how = '',
  request: Request = {},
): StatusCase {
  const definition = listOperations().find(({ id }) => id === operation);
  return {
    operation,
    status,
    world,
    how,
    target: request.target ?? definition?.path ?? '',
    method: request.method ?? 'GET',
    headers: request.headers ?? {},
    body: request.body ?? null,
    token: request.token ?? true,
  };
}
