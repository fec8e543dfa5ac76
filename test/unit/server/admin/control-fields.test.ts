import { describe, expect, it } from 'vitest';
import { parseJsonExact, stringifyJsonExact } from '../../../../src/contract/json/json-exact.ts';
import { renderJsonSchema, type JsonSchema } from '../../../../src/contract/json/json-schema.ts';
import type { Problem } from '../../../../src/contract/problems/problem-schema.ts';
import { AcceptedAnswer } from '../../../../src/contract/schemas/answers/admin.ts';
import { ControlBodySchema } from '../../../../src/contract/actions/control-body.ts';
import { startAdminServer, type AdminServer } from '../../../support/admin-client.ts';
import { edgesOf } from '../../../support/schema-edges.ts';

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
  const body = { ...AcceptedAnswer.example, action: ACTION };
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

  it.each([
    ['no body', undefined, {}],
    ['a length of 0', '', { 'content-length': '0' }],
    ['a length of 0 and a type', '', { 'content-type': 'application/json' }],
    ['an empty object', '{}', { 'content-type': 'application/json' }],
    ['an empty object with white space', ' { } \n', { 'content-type': 'application/json' }],
  ])('may be missing: %s', async (_what, body, headers) => {
    const server = await openServer();
    const answer = await server.control(ACTION, body, headers);
    expect(answer.status).toBe(202);
    expect(server.daemon.received.map((each) => each.body)).toEqual(['{}']);
  });
});
