import { exampleOf } from '../../../scripts/reference/examples.ts';
import { describe, expect, it } from 'vitest';
import {
  actionDefinition,
  CONTROL_ACTIONS,
  type ControlAction,
} from '../../../src/contract/actions/actions.ts';
import { ControlBodySchema } from '../../../src/contract/actions/control-body.ts';
import { parseJsonExact, stringifyJsonExact } from '../../../src/contract/json/json-exact.ts';
import { renderJsonSchema, type JsonSchema } from '../../../src/contract/json/json-schema.ts';
import { ProblemSchema, type Problem } from '../../../src/contract/problems/problem-schema.ts';
import { AcceptedAnswer } from '../../../src/contract/schemas/answers/admin.ts';
import { ADMIN_TOKEN, refusal, startAdminServer, type AdminServer } from '../../support/admin-client.ts';
import type { DaemonFault } from '../../support/fake-daemon.ts';
import { rawRequest } from '../../support/raw-http.ts';
import { edgesOf } from '../../support/schema-edges.ts';

/** A body that is valid for its action, where `{}` is not. */
const BODIES: Partial<Record<ControlAction, object>> = {
  'schedule-add': { id: 's1', group: 'res', action: 'sync', every_seconds: 60 },
  'schedule-update': { id: 's1', enabled: true },
  'schedule-remove': { id: 's1' },
  'schedule-run': { id: 's1' },
  'task-cancel': { task_id: 'T1' },
  'translation-task-update': { task_id: 'T1', status: 'pending' },
  'translation-worker-run': { provider: 'fixture', fixture_path: 'f.json' },
  'translation-proofread': { task_id: 'T1', status: 'proofread', reviewer: 'r' },
  'translation-memory-confirm': { record_id: 'R1', reviewer: 'r' },
  'translation-memory-resolve-conflict': {
    winner_record_id: 'R1',
    expected_trusted_record_ids: ['R1', 'R2'],
    reviewer: 'r',
    reason: 'better',
  },
  'translation-glossary-add': {
    source_term: 'a',
    recommended_translation: 'b',
    source_language: 'ja',
    target_language: 'en',
    category: 'c',
    source: { source_kind: 'manual', observed_unix_seconds: 1 },
  },
  'translation-glossary-update': { term_id: 'G1', category: 'c' },
  'translation-glossary-approve': { term_id: 'G1', reviewer: 'r' },
  'translation-glossary-deprecate': { term_id: 'G1', reviewer: 'r', reason: 'old' },
  'translation-glossary-delete': { term_id: 'G1', reviewer: 'r', reason: 'old' },
  'localized-publish': { patch_manifest: 'p.json', reviewer: 'r' },
  'localized-rollback': { reviewer: 'r', reason: 'bad' },
};

function accept(server: AdminServer, action: string, extra = ''): string {
  const body = `{"accepted":true,"action":"${action}","task_id":"01TASK","status":"queued","deduplicated":false,"ignored_fields":[]${extra}}`;
  server.daemon.setAnswer(`/v1/control/${action}`, { status: 202, body });
  return body;
}

/** A JSON object with this number of keys that no body has. */
function unknownKeys(count: number): string {
  return JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 1])));
}

/** The audit lines so far. */
function audits(server: AdminServer): Array<Record<string, unknown>> {
  return server.log
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ audit }) => audit === 'control');
}

describe('control calls', () => {
  describe('control actions', () => {
    it('are the 25 of the table, each sent to the daemon and answered with its unchanged 202', async () => {
      const server = await startAdminServer();
      expect(CONTROL_ACTIONS).toHaveLength(25);
      for (const action of CONTROL_ACTIONS) {
        const answer = accept(server, action);
        const sent = { ...BODIES[action] };
        const response = await server.control(action, JSON.stringify(sent));
        expect([action, response.status, await response.text()]).toEqual([action, 202, answer]);
        expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
        const received = server.daemon.received.at(-1);
        expect([received?.method, received?.target]).toEqual(['POST', `/v1/control/${action}`]);
        expect(JSON.parse(received?.body ?? '')).toEqual(sent);
      }
    });

    it('accept no body, an empty one, and an empty object, and never hang', async () => {
      const server = await startAdminServer();
      accept(server, 'sync');
      const port = Number(new URL(server.url).port);
      const fields = { authorization: `Bearer ${ADMIN_TOKEN}` };
      expect((await server.control('sync')).status).toBe(202);
      expect((await server.control('sync', '{}')).status).toBe(202);
      expect((await rawRequest(port, 'POST', '/admin/control/sync', fields)).status).toBe(202);
      const empty = await rawRequest(port, 'POST', '/admin/control/sync', {
        ...fields,
        'content-length': '0',
      });
      expect(empty.status).toBe(202);
      expect(server.daemon.received.map(({ body }) => body)).toEqual(['{}', '{}', '{}', '{}']);
    });

    it('keep int64 values to the last digit, both ways', async () => {
      const server = await startAdminServer();
      const answer = accept(server, 'schedule-add', ',"result":{"next":9007199254740993}');
      const body = '{"id":"s","group":"res","action":"sync","next_run_unix_seconds":9223372036854775807}';
      const response = await server.control('schedule-add', body);
      expect(await response.text()).toBe(answer);
      expect(server.daemon.received[0]?.body).toBe(body);
      expect(await refusal(await server.control('schedule-add', body.replace('5807', '5808')))).toEqual([
        400,
        'invalid_request',
      ]);
    });

    it.each([
      ['syntax', 'sync', '{"force":', ['']],
      ['white space alone', 'sync', ' ', ['']],
      ['a byte order mark', 'sync', '\uFEFF{}', ['']],
      ['an array', 'sync', '[]', ['']],
      ['repeated keys', 'sync', '{"force":true,"force":false}', ['']],
      ['__proto__', 'sync', '{"__proto__":{"force":true}}', ['']],
      ['constructor', 'sync', '{"constructor":{"prototype":{}}}', ['/constructor']],
      ['unknown fields', 'sync', '{"other":1,"a/b":2}', ['/other']],
      ['an unknown field with a slash', 'sync', '{"a/b":2}', ['/a~1b']],
      ['a wrong type', 'sync', '{"force":"yes"}', ['/force']],
      ['a missing field', 'task-cancel', '{}', ['/task_id']],
      ['a bound', 'translation-worker-run', '{"provider":"x","concurrency":257}', ['/concurrency']],
      ['a fraction', 'translation-worker-run', '{"provider":"x","max_tasks":1.5}', ['/max_tasks']],
      ['depth', 'sync', `{"scope":${'['.repeat(20)}${']'.repeat(20)}}`, ['']],
    ])(
      'refuse %s with 400 and pointers, without a request to the daemon',
      async (_what, action, body, pointers) => {
        const server = await startAdminServer();
        const response = await server.control(action, body);
        const problem = ProblemSchema.parse(await response.json());
        expect([response.status, problem.code, problem.errors?.map(({ pointer }) => pointer)]).toEqual([
          400,
          'invalid_request',
          pointers,
        ]);
        expect(server.daemon.requests).toEqual([]);
        expect(Object.keys(Object.prototype)).toEqual([]);
      },
    );

    it('refuse bodies that are too large, of another type, or coded', async () => {
      const server = await startAdminServer();
      const large = JSON.stringify({ reason: 'x'.repeat(1024 * 1024) });
      expect(await refusal(await server.control('sync', large))).toEqual([413, 'body_too_large']);
      const port = Number(new URL(server.url).port);
      const chunked = await fetch(`http://127.0.0.1:${port}/admin/control/sync`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
        body: new Blob([large]).stream(),
        duplex: 'half',
      });
      expect(await refusal(chunked)).toEqual([413, 'body_too_large']);
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'application/json; charset=utf-16',
        '',
      ]) {
        const response = await server.control('sync', '{}', { 'content-type': type });
        expect([type, ...(await refusal(response))]).toEqual([type, 415, 'unsupported_media_type']);
      }
      const coded = await server.control('sync', '{}', { 'content-encoding': 'gzip' });
      expect(await refusal(coded)).toEqual([415, 'unsupported_media_type']);
      expect(server.daemon.requests).toEqual([]);
      accept(server, 'sync');
      expect((await server.control('sync', '{}')).status).toBe(202);
    });

    it('pass the idempotency key on, and refuse a malformed one', async () => {
      const server = await startAdminServer();
      accept(server, 'sync');
      await server.control('sync', '{}', { 'idempotency-key': 'key-1', 'x-request-id': 'request-0001' });
      expect(server.daemon.received[0]?.headers).toMatchObject({
        'idempotency-key': 'key-1',
        'x-request-id': 'request-0001',
      });
      const bad = await server.control('sync', '{}', { 'idempotency-key': 'two keys' });
      expect(await refusal(bad)).toEqual([400, 'invalid_request']);
      expect(server.daemon.requests).toHaveLength(1);
    });

    it('refuse pages of other sites', async () => {
      const server = await startAdminServer();
      accept(server, 'sync');
      const { host } = new URL(server.url);
      const own = 'https://resources.example.org';
      const cases: Array<[Record<string, string>, number]> = [
        [{ 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, 403],
        [{ 'sec-fetch-site': 'cross-site' }, 403],
        [{ 'sec-fetch-site': 'same-origin', origin: `http://${host}` }, 202],
        [{ 'sec-fetch-site': 'cross-site', origin: own }, 202],
        [{ origin: 'https://evil.example' }, 403],
        [{ origin: 'null' }, 403],
        [{ origin: `http://${host}` }, 202],
        [{ origin: own }, 202],
      ];
      const port = Number(new URL(server.url).port);
      for (const [headers, status] of cases) {
        const fields = { authorization: `Bearer ${ADMIN_TOKEN}`, ...headers, host };
        const answer = await rawRequest(port, 'POST', '/admin/control/sync', fields);
        expect([headers, answer.status]).toEqual([headers, status]);
      }
    });

    it('answer only POST, only known names, and only without a query', async () => {
      const server = await startAdminServer();
      for (const method of ['GET', 'HEAD', 'PUT', 'OPTIONS']) {
        const response = await server.ask('/admin/control/sync', { method });
        expect([method, response.status, response.headers.get('allow')]).toEqual([method, 405, 'POST']);
      }
      expect(await refusal(await server.control('toString'))).toEqual([404, 'unknown_action']);
      expect(await refusal(await server.control('s%79nc'))).toEqual([404, 'unknown_action']);
      expect(await refusal(await server.control('sync/'))).toEqual([404, 'not_found']);
      expect(await refusal(await server.control(''))).toEqual([404, 'not_found']);
      expect(await refusal(await server.control('sync?force=true'))).toEqual([400, 'invalid_request']);
      expect(server.daemon.requests).toEqual([]);
    });
  });

  describe("the daemon's answer to an action", () => {
    it.each([
      [400, 'invalid_request', 400, 'invalid_request'],
      [400, 'action_not_schedulable', 400, 'action_not_schedulable'],
      [401, 'not_authenticated', 502, 'daemon_rejected'],
      [404, 'unknown_task', 502, 'daemon_rejected'],
      [409, 'store_locked', 502, 'daemon_rejected'],
      [422, 'upstream_not_configured', 502, 'daemon_rejected'],
      [501, 'not_implemented', 501, 'not_implemented'],
      [500, 'internal_error', 502, 'daemon_unreachable'],
      [503, 'backend_unavailable', 502, 'daemon_rejected'],
      [503, 'overloaded', 502, 'daemon_unreachable'],
      [200, 'fine', 502, 'daemon_unreachable'],
      [302, 'moved', 502, 'daemon_unreachable'],
    ])('maps %i %s to %i %s and names both', async (status, code, expectedStatus, expectedCode) => {
      const server = await startAdminServer();
      server.daemon.setAnswer('/v1/control/sync', {
        status,
        headers: { location: 'http://127.0.0.1:1/' },
        body: { code, detail: 'what the daemon says', errors: [{ pointer: '/force', message: 'm' }] },
      });
      const response = await server.control('sync', '{}');
      const problem = ProblemSchema.parse(await response.json());
      expect([response.status, problem.code, problem.daemon]).toEqual([
        expectedStatus,
        expectedCode,
        { status, code },
      ]);
      expect(problem.detail.includes('what the daemon says')).toBe(
        expectedCode === 'daemon_rejected' || status === 400,
      );
      expect(audits(server)).toMatchObject([
        { action: 'sync', status: expectedStatus, code: expectedCode, task_id: null },
      ]);
    });

    it.each<NonNullable<DaemonFault>>([
      'hang',
      'drip',
      'garbage',
      'huge',
      'html',
      'coded',
      'truncated',
      'reset',
      'upgrade',
      'endless head',
      'endless interim',
    ])('is 502 daemon_unreachable for %s, sent once and not again', async (fault) => {
      const server = await startAdminServer();
      server.daemon.setFault(fault);
      expect(await refusal(await server.control('sync', '{}'))).toEqual([502, 'daemon_unreachable']);
      expect(server.daemon.requests).toEqual(['POST /v1/control/sync']);
      server.daemon.setFault(null);
      accept(server, 'sync');
      expect((await server.control('sync', '{}')).status).toBe(202);
    });

    it('is 502 daemon_unreachable without a listener', async () => {
      const server = await startAdminServer({ daemonUrl: 'http://127.0.0.1:1' });
      const response = await server.control('sync', '{}');
      const { code, detail } = ProblemSchema.parse(await response.json());
      expect([response.status, code]).toEqual([502, 'daemon_unreachable']);
      expect(detail).toMatch(
        /^The daemon could not be reached for sync; the action was not sent\. The daemon has been unreachable since /,
      );
    });
  });

  describe('a body with very many keys', () => {
    it.each([
      ['in one object', unknownKeys(90_000), 'an object has more than 1000 keys'],
      [
        'in many objects',
        `{"x":[${Array.from({ length: 90_000 }, () => '{"a":1}').join(',')}]}`,
        '32000 keys',
      ],
    ])('is refused before its fields are checked: %s', async (_where, body, message) => {
      const server = await startAdminServer();
      const answer = await server.control('sync', body);
      const { code, errors } = ProblemSchema.parse(await answer.json());
      expect([answer.status, code, errors]).toEqual([
        400,
        'invalid_request',
        [{ pointer: '', message: expect.stringContaining(message) }],
      ]);
    });
  });

  describe('the audit of control calls', () => {
    it('is one line for every call, with source, action and result, and without text of the body', async () => {
      const server = await startAdminServer();
      accept(server, 'sync');
      await server.control('sync', '{"reason":"canary-reason"}', { 'x-request-id': 'request-0001' });
      await server.control('sync', '{"other":"canary-other"}');
      await server.control('canary-action');
      await server.control('sync', '{}', { authorization: 'Bearer canary-wrong' });
      const digest = expect.stringMatching(/^[0-9a-f]{64}$/) as unknown;
      expect(audits(server)).toMatchObject([
        {
          level: 'info',
          token_id: expect.stringMatching(/^[0-9a-f]{8}$/) as unknown,
          action: 'sync',
          args_digest: digest,
          status: 202,
          code: null,
          task_id: '01TASK',
          request_id: 'request-0001',
        },
        { action: 'sync', args_digest: null, status: 400, code: 'invalid_request', task_id: null },
        { action: null, status: 404, code: 'unknown_action' },
        { token_id: null, action: null, status: 401, code: 'not_authenticated' },
      ]);
      expect(server.log.join('')).not.toContain('canary-');
    });

    it('is written where the log keeps only errors', async () => {
      const server = await startAdminServer({ logLevel: 'error' });
      accept(server, 'sync');
      await server.control('sync');
      expect(server.log).toHaveLength(1);
      expect(audits(server)).toMatchObject([{ action: 'sync', status: 202 }]);
    });

    it('knows every action whose definition needs fields', () => {
      const needy = CONTROL_ACTIONS.filter((action) => actionDefinition(action).required.length > 0);
      expect(needy.filter((action) => BODIES[action] === undefined)).toEqual([]);
    });
  });
});

/** The table of the service interface: every field in its order, with its type and its constraint. */
const SPECIFIED = `
force boolean
id string
group string
action string
args strings
next_run_unix_seconds int64
delay_seconds int64
every_seconds int64
count int64
max_runs int64 1..
clear_args boolean
clear_every boolean
enabled boolean
task_id string
status string
failure_reason string
provider_run_id string
provider string
translation_results objects unit_id! source_text! translated_text!
glossary_override object qa_identity! reviewer! reason! provenance! confirmed_unix_seconds!
fixture_path string
concurrency int64 1..256
max_attempts int64 1..
lease_seconds int64 1..
retry_backoff_seconds int64 0..
max_tasks int64 1..
worker_id string
translation_memory_path string
glossary_path string
record_id string
winner_record_id string
expected_trusted_record_ids strings
supersede_record_id string
reviewer string
reason string
term_id string
source_term string
aliases strings
recommended_translation string
allowed_translations strings
source_language string
target_language string
category string
priority int64
scope object of strings
review_status one of draft approved deprecated rejected
source object source_kind! observed_unix_seconds! source_ref source_author source_note
translation_file string
from_worker boolean
patch_manifest string
localized_release_id string
`;

const PROPERTIES = renderJsonSchema(ControlBodySchema)['properties'] as Readonly<Record<string, JsonSchema>>;
/** An action without fields and rules. */
const ACTION = 'reload';
const AT_ONCE = 16;

/** A property of the schema in the words of the specification. */
function describeField(schema: JsonSchema): string {
  const { minimum, maximum } = schema as { minimum?: number; maximum?: number };
  switch (schema['type']) {
    case 'integer':
      return minimum === undefined ? 'int64' : `int64 ${minimum}..${maximum ?? ''}`;
    case 'array': {
      const items = schema['items'] as JsonSchema;
      return items['type'] === 'string' ? 'strings' : `objects ${describeMembers(items)}`;
    }
    case 'object':
      return schema['properties'] === undefined
        ? `object of ${(schema['additionalProperties'] as JsonSchema)['type'] as string}s`
        : `object ${describeMembers(schema)}`;
    default:
      return Array.isArray(schema['enum'])
        ? `one of ${(schema['enum'] as string[]).join(' ')}`
        : (schema['type'] as string);
  }
}

function describeMembers(schema: JsonSchema): string {
  const required = (schema['required'] ?? []) as readonly string[];
  return Object.keys(schema['properties'] as object)
    .map((name) => `${name}${required.includes(name) ? '!' : ''}`)
    .join(' ');
}

async function openServer(): Promise<AdminServer> {
  const server = await startAdminServer({ daemonTimeoutMs: 10_000 });
  const body = { ...exampleOf(AcceptedAnswer), action: ACTION };
  server.daemon.setAnswer(`/v1/control/${ACTION}`, { status: 202, body });
  return server;
}

async function inTurns<T>(all: readonly T[], run: (each: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += AT_ONCE) await Promise.all(all.slice(at, at + AT_ONCE).map(run));
}

/** The text that the daemon should get, without whitespace and escapes. */
function canonical(json: string): string {
  return stringifyJsonExact(parseJsonExact(json));
}

describe('the fields of a control body', () => {
  it('are those of the specification, in its order, with its types and bounds', () => {
    const described = Object.entries(PROPERTIES).map(([name, schema]) => `${name} ${describeField(schema)}`);
    expect(described).toEqual(SPECIFIED.trim().split('\n'));
    expect(renderJsonSchema(ControlBodySchema)['additionalProperties']).toBe(false);
    expect(PROPERTIES['glossary_override']).toMatchObject({
      additionalProperties: false,
      properties: { qa_identity: { minLength: 1 }, confirmed_unix_seconds: { minimum: 1 } },
    });
    expect(PROPERTIES['source']).toMatchObject({
      additionalProperties: false,
      properties: { source_kind: { enum: ['manual', 'imported'] } },
    });
  });

  it('reach the daemon to the last digit at every valid edge', async () => {
    const server = await openServer();
    const bodies = Object.entries(PROPERTIES).flatMap(([name, schema]) =>
      edgesOf(schema).good.map((json) => `{"${name}":${json}}`),
    );
    const statuses: string[] = [];
    await inTurns(bodies, async (body) => {
      const answer = await server.control(ACTION, body);
      const text = await answer.text();
      if (answer.status !== 202) statuses.push(`${body.slice(0, 80)}: ${answer.status} ${text}`);
    });
    expect(statuses).toEqual([]);
    const received = server.daemon.received.map(({ body }) => body).toSorted();
    expect(received).toEqual(bodies.map(canonical).toSorted());
    expect(bodies.length).toBeGreaterThan(150);
  });

  it('are refused with their place just beyond every edge, and nothing reaches the daemon', async () => {
    const server = await openServer();
    const cases = Object.entries(PROPERTIES).flatMap(([name, schema]) =>
      edgesOf(schema).bad.map(({ json, pointer }) => ({
        body: `{"${name}":${json}}`,
        pointer: `/${name}${pointer}`,
      })),
    );
    const wrong: string[] = [];
    await inTurns(cases, async ({ body, pointer }) => {
      const answer = await server.control(ACTION, body);
      const problem = (await answer.json()) as Problem;
      const named = problem.errors?.some((each) => each.pointer === pointer) === true;
      if (answer.status !== 400 || problem.code !== 'invalid_request' || !named) {
        wrong.push(`${body.slice(0, 120)} at ${pointer}: ${answer.status} ${JSON.stringify(problem.errors)}`);
      }
    });
    expect(wrong).toEqual([]);
    expect(server.daemon.received).toEqual([]);
    expect(cases.length).toBeGreaterThan(350);
  });

  it('may not be repeated in a body, nor be called __proto__, at any depth', async () => {
    const server = await openServer();
    const bodies = Object.entries(PROPERTIES).flatMap(([name, schema]) => {
      const [good = ''] = edgesOf(schema).good;
      return [`{"${name}":${good},"${name}":${good}}`, `{"${name}":${good},"__proto__":{}}`];
    });
    const deep = [
      '{"scope":{"k":"a","k":"b"}}',
      '{"scope":{"__proto__":"a"}}',
      '{"source":{"source_kind":"manual","observed_unix_seconds":1,"__proto__":{}}}',
      '{"translation_results":[{"unit_id":"a","unit_id":"a","source_text":"","translated_text":""}]}',
      '{"scope":{"k":"a","\\u006b":"b"}}',
      '{"\\u005f_proto__":1}',
    ];
    const wrong: string[] = [];
    await inTurns([...bodies, ...deep], async (body) => {
      const answer = await server.control(ACTION, body);
      const { code } = (await answer.json()) as Problem;
      if (answer.status !== 400 || code !== 'invalid_request')
        wrong.push(`${body.slice(0, 80)}: ${answer.status}`);
    });
    expect(wrong).toEqual([]);
    expect(server.daemon.received).toEqual([]);
    // oxlint-disable-next-line no-proto
    expect(Object.hasOwn(Object.prototype, 'k')).toBe(false);
  });

  it('may not begin with a byte order mark, and the refusal says so', async () => {
    const server = await openServer();
    const answer = await server.control(ACTION, '\u{feff}{}');
    expect(answer.status).toBe(400);
    expect(((await answer.json()) as Problem).errors).toEqual([
      { pointer: '', message: 'the body begins with a byte order mark (U+FEFF); send it without one' },
    ]);
    expect(server.daemon.received).toEqual([]);
  });

  it.each([
    ['no body', undefined, {}],
    ['a length of 0', '', { 'content-length': '0' }],
    ['a length of 0 and a type', '', { 'content-type': 'application/json' }],
    ['an empty object', '{}', { 'content-type': 'application/json' }],
    ['null', 'null', { 'content-type': 'application/json' }],
    ['a semicolon without a parameter', '{}', { 'content-type': 'application/json;' }],
    ['semicolons around a parameter', '{}', { 'content-type': 'application/json; ; charset=UTF-8 ;' }],
    ['an empty object with white space', ' { } \n', { 'content-type': 'application/json' }],
  ])('may be missing: %s', async (_what, body, headers) => {
    const server = await openServer();
    const answer = await server.control(ACTION, body, headers);
    expect(answer.status).toBe(202);
    expect(server.daemon.received.map((each) => each.body)).toEqual(['{}']);
  });
});
