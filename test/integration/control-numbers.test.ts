import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { actionDefinition, CONTROL_ACTIONS, type ControlAction } from '../../src/contract/actions/actions.ts';
import { ControlBodySchema, type ControlField } from '../../src/contract/actions/control-body.ts';
import { stringifyJsonExact } from '../../src/contract/json/json-exact.ts';
import { INT64_MAX, INT64_MIN } from '../../src/contract/schemas/int64.ts';
import { sharedFixture } from '../support/shared-fixture.ts';
import { startServedTranslation, type ServedTranslation } from '../support/served-translation.ts';
import { until } from '../support/until.ts';

/** Integers at which a reader, a database or a timer may fail. */
const EDGES = [INT64_MIN, -(2n ** 53n), -1n, 0n, 1n, 100n, 2n ** 31n, 2n ** 53n - 1n, 2n ** 53n, INT64_MAX];

interface Place {
  readonly world: ServedTranslation;
  readonly taskId: string;
  readonly result: Readonly<Record<string, unknown>>;
}

/** One number of one action, and the edges from `low` to `high` that it takes. */
interface NumberCase {
  /** The field of the body that is the number, or has it. */
  readonly field: ControlField;
  readonly low: bigint;
  readonly high: bigint;
  readonly body: (value: bigint, place: Place) => object;
  /** The code with which the daemon refuses what it takes; without one it accepts. */
  readonly refused?: string;
}

/** A number beside the other fields that the action needs. */
function beside(fields: object, field: ControlField, low: bigint, high: bigint): NumberCase {
  return { field, low, high, body: (value) => ({ ...fields, [field]: value }) };
}

const TERM = { source_term: '勇者', recommended_translation: '勇者', source_language: 'ja' };
const SCHEDULED = { group: 'res', action: 'verify', enabled: false };
const OVERRIDE = { qa_identity: 'gqa1_old', reviewer: 'Rin', reason: 'a name', provenance: 'call' };
const MANUAL = { source_kind: 'manual', observed_unix_seconds: 1 };
/** The largest edge before the end of the year 9999, after which no time is taken. */
const LAST_TIME = 2n ** 31n;

function newTerm(value: bigint, fields: object): object {
  return {
    ...TERM,
    target_language: 'zh-Hans',
    category: `${String(value)}${Object.keys(fields).join()}`,
    ...fields,
  };
}

/** The numbers of each action that takes one. */
const CASES: Partial<Record<ControlAction, readonly NumberCase[]>> = {
  'schedule-add': [
    beside(SCHEDULED, 'next_run_unix_seconds', 0n, LAST_TIME),
    beside(SCHEDULED, 'delay_seconds', 0n, LAST_TIME),
    beside(SCHEDULED, 'every_seconds', 1n, LAST_TIME),
    beside({ ...SCHEDULED, delay_seconds: 60 }, 'max_runs', 1n, INT64_MAX),
  ],
  'schedule-update': [
    beside({ id: 'edge' }, 'next_run_unix_seconds', 0n, LAST_TIME),
    beside({ id: 'edge' }, 'delay_seconds', 0n, LAST_TIME),
    beside({ id: 'edge' }, 'every_seconds', 1n, LAST_TIME),
    beside({ id: 'edge' }, 'max_runs', 1n, INT64_MAX),
  ],
  'release-cleanup': [beside({}, 'count', 1n, INT64_MAX)],
  'translation-worker-run': [
    beside({ provider: 'memory-only' }, 'concurrency', 1n, 100n),
    beside({ provider: 'memory-only' }, 'max_attempts', 1n, INT64_MAX),
    beside({ provider: 'memory-only' }, 'lease_seconds', 1n, INT64_MAX),
    beside({ provider: 'memory-only' }, 'retry_backoff_seconds', 0n, INT64_MAX),
    beside({ provider: 'memory-only' }, 'max_tasks', 1n, INT64_MAX),
    {
      field: 'args',
      low: 1n,
      high: INT64_MAX,
      body: (value) => ({ provider: 'memory-only', args: [`max_tokens=${value}`] }),
    },
  ],
  'translation-task-update': [
    {
      field: 'lease_seconds',
      low: 1n,
      high: INT64_MAX,
      body: (lease_seconds, { taskId, result }) => ({
        task_id: taskId,
        translation_results: [result],
        worker_id: 'ann',
        status: 'in_progress',
        lease_seconds,
      }),
    },
    {
      field: 'glossary_override',
      low: 1n,
      high: 100n,
      refused: 'override_stale',
      body: (confirmed_unix_seconds, { taskId, result }) => ({
        task_id: taskId,
        translation_results: [{ ...result, translated_text: '师傅' }],
        worker_id: 'ann',
        glossary_override: { ...OVERRIDE, confirmed_unix_seconds },
      }),
    },
  ],
  'translation-proofread': [
    beside({}, 'max_tasks', 1n, INT64_MAX),
    {
      field: 'glossary_override',
      low: 1n,
      high: 100n,
      refused: 'invalid_transition',
      body: (confirmed_unix_seconds, { taskId }) => ({
        task_id: taskId,
        status: 'proofread',
        reviewer: 'Rin',
        glossary_override: { ...OVERRIDE, confirmed_unix_seconds },
      }),
    },
  ],
  'translation-glossary-add': [
    {
      field: 'priority',
      low: INT64_MIN,
      high: INT64_MAX,
      body: (priority) => newTerm(priority, { priority, source: MANUAL }),
    },
    {
      field: 'source',
      low: INT64_MIN,
      high: INT64_MAX,
      body: (value) => newTerm(value, { source: { ...MANUAL, observed_unix_seconds: value } }),
    },
  ],
  'translation-glossary-update': [
    beside({ term_id: 'gt_edge' }, 'priority', INT64_MIN, INT64_MAX),
    {
      field: 'source',
      low: INT64_MIN,
      high: INT64_MAX,
      body: (value) => ({ term_id: 'gt_edge', source: { ...MANUAL, observed_unix_seconds: value } }),
    },
  ],
  // The last one: a cleanup would wait for its hundred verifications.
  'schedule-run': [beside({ id: 'edge', force: true }, 'count', 1n, 100n)],
};

/** The fields of the control body that are an integer, or an object with one. */
const NUMBER_FIELDS = new Set(
  Object.entries(ControlBodySchema.shape)
    .filter(([, schema]) => holdsInteger(schema.unwrap()))
    .map(([field]) => field as ControlField),
);

function holdsInteger(schema: z.ZodType): boolean {
  if (schema.meta()?.['type'] === 'integer') return true;
  return (
    'shape' in schema &&
    Object.values(schema.shape as z.core.$ZodShape).some((member) => holdsInteger(member as z.ZodType))
  );
}

const started = sharedFixture(async (atEnd): Promise<Place> => {
  const world = await startServedTranslation({ 'edge.json': ['先生', '学生'] }, {}, atEnd);
  await world.act('schedule-add', { id: 'edge', ...SCHEDULED, every_seconds: 60 });
  await world.act('translation-glossary-add', newTerm(0n, { term_id: 'gt_edge', source: MANUAL }));
  const { task_id: taskId } = await world.task('edge.json');
  const [unit] = await world.units('edge.json');
  return {
    world,
    taskId,
    result: { unit_id: unit?.unit_id, source_text: '先生', translated_text: '老师' },
  };
});

/** Waits for the task of an accepted action. @returns how it ended */
async function endOf({ world }: Place, taskId: string): Promise<unknown> {
  let status: unknown;
  await until(async () => {
    ({ status } = (await world.report('task.status', { task_id: taskId }))['task'] as { status: string });
    return status !== 'queued' && status !== 'running';
  });
  return status;
}

/** Sends a number to the server. @returns its outcome, in one line */
async function send(action: string, { body }: NumberCase, value: bigint): Promise<string> {
  const place = started();
  const { status, body: answer } = await place.world.postText(action, stringifyJsonExact(body(value, place)));
  const { daemon, task_id: taskId } = answer as { daemon?: { code: string }; task_id?: string };
  if (status === 202) return `${value}: ${String(await endOf(place, taskId ?? ''))}`;
  return `${value}: ${status === 502 ? daemon?.code : status}`;
}

describe('every number of every action', () => {
  it('has a case', () => {
    const taken = CONTROL_ACTIONS.flatMap((action) => {
      const { required, used } = actionDefinition(action);
      return [...required, ...used]
        .filter((field) => NUMBER_FIELDS.has(field))
        .map((field) => `${action} ${field}`);
    });
    const tried = Object.entries(CASES).flatMap(([action, cases]) =>
      cases.map(({ field }) => `${action} ${field}`),
    );
    expect(taken.length).toBeGreaterThan(20);
    expect(tried).toEqual(expect.arrayContaining(taken));
  });

  const table = Object.entries(CASES).flatMap(([action, cases]) =>
    cases.map((each) => ({ action, field: each.field, each })),
  );
  it.each(table)('$action: $field', async ({ action, each }) => {
    const outcomes: string[] = [];
    for (const value of EDGES) outcomes.push(await send(action, each, value));
    const expected = EDGES.map((value) => {
      const isTaken = value >= each.low && value <= each.high;
      return `${value}: ${isTaken ? (each.refused ?? 'succeeded') : '400'}`;
    });
    expect(outcomes).toEqual(expected);
  });
});
