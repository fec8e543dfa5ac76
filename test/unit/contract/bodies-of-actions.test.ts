import * as fc from 'fast-check';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import {
  actionDefinition,
  CONTROL_ACTIONS,
  isControlAction,
  type ControlAction,
} from '../../../src/contract/actions/actions.ts';
import type { BodyOf } from '../../../src/contract/actions/body-of.ts';
import { CONTROL_FIELDS, type ControlField } from '../../../src/contract/actions/control-body.ts';
import { wholeNumber } from '../../../src/contract/actions/field-schemas.ts';
import { parseKeyValuePairs } from '../../../src/contract/actions/key-value-arguments.ts';
import { parseActionBody, parseControlBody } from '../../../src/contract/actions/parse-control-body.ts';
import { parseJsonExact } from '../../../src/contract/json/json-exact.ts';
import type { FieldError } from '../../../src/contract/problems/service-error.ts';
import type { QueryOf, ReportBodyOf } from '../../../src/contract/reports/reports.ts';
import type { Channel } from '../../../src/domain/release/channel.ts';
import type { ReleaseId } from '../../../src/domain/release/release-id.ts';

describe('the body of an action', () => {
  describe('the typed body of an action', () => {
    it('has the fields that the action uses, each as the action narrows it', () => {
      const parsed = parseActionBody('release-cleanup', {
        count: 2n ** 62n,
        args: ['dry_run=true'],
        reviewer: 'ann',
        concurrency: 3,
      });
      expect(parsed).toEqual({
        ok: true,
        value: {
          body: { count: Number.MAX_SAFE_INTEGER, args: { dry_run: true }, reviewer: 'ann' },
          audit: { reviewer: 'ann', reason: undefined },
          ignoredFields: ['concurrency'],
        },
      });
    });

    it('omits switches that are false', () => {
      const parsed = parseActionBody('schedule-update', { id: 'a', enabled: false, clear_args: false });
      expect(parsed).toMatchObject({ ok: true, value: { body: { id: 'a', enabled: false } } });
      expect(parsed.ok && 'clear_args' in parsed.value.body).toBe(false);
    });

    it('is derived from the tables of the contract', () => {
      expectTypeOf<BodyOf<'task-cancel'>['task_id']>().toEqualTypeOf<string>();
      expectTypeOf<BodyOf<'task-cancel'>['reason']>().toEqualTypeOf<string | undefined>();
      expectTypeOf<BodyOf<'schedule-add'>['group']>().toEqualTypeOf<'res' | 'parse' | 'i18n'>();
      expectTypeOf<BodyOf<'schedule-add'>['every_seconds']>().toEqualTypeOf<number | undefined>();
      expectTypeOf<NonNullable<BodyOf<'verify'>['args']>['channel']>().toEqualTypeOf<Channel | undefined>();
      expectTypeOf<BodyOf<'localized-rollback'>['localized_release_id']>().toEqualTypeOf<
        ReleaseId | undefined
      >();
      expectTypeOf<BodyOf<'reload'>>().not.toHaveProperty('force');
      expectTypeOf<Extract<BodyOf<'schedule-run'>, { id?: undefined }>['group']>().toEqualTypeOf<
        'res' | 'parse' | 'i18n'
      >();
      expectTypeOf<QueryOf<'daemon.logs'>>().toEqualTypeOf<{ readonly tail: number }>();
      expectTypeOf<ReportBodyOf<'task.list'>['items'][number]['attempt']>().toEqualTypeOf<number>();
    });
  });

  describe('key=value pairs', () => {
    const schema = z.strictObject({
      name: z.string(),
      count: z.int().optional(),
      on: z.boolean().default(false),
    });

    it('become the types of the schema', () => {
      expect(parseKeyValuePairs(schema, ['name=12', 'count=12', 'on=true'])).toEqual({
        ok: true,
        value: { name: '12', count: 12, on: true },
      });
      expect(parseKeyValuePairs(schema, ['name=a=b'])).toEqual({
        ok: true,
        value: { name: 'a=b', on: false },
      });
    });

    it.each([
      [['name=a', 'name=b'], 1, 'name is given twice'],
      [['name=a', 'nope=1'], 1, 'must be one of name=..., count=..., on=...'],
      [['name'], 0, 'must be one of name=..., count=..., on=...'],
      [['count=1'], null, 'name '],
      [['name=a', 'count=1.5'], 1, 'count '],
    ])('%j are refused at %s', (pairs, index, message) => {
      expect(parseKeyValuePairs(schema, pairs)).toMatchObject({
        ok: false,
        error: [{ index, message: expect.stringContaining(message) }],
      });
    });
  });
});

const source = { source_kind: 'manual', observed_unix_seconds: 1 };

/** A valid body for every action. */
const GOOD: Readonly<Record<ControlAction, Readonly<Record<string, unknown>>>> = {
  reload: {},
  refresh: { force: true },
  restart: {},
  sync: { force: true },
  verify: { args: ['channel=official', 'release_id=1.66'] },
  repair: { args: ['channel=localized'] },
  'catalog-refresh': {},
  'schedule-add': { group: 'res', action: 'verify', every_seconds: 60, next_run_unix_seconds: 1 },
  'schedule-update': { id: 'a', clear_every: true },
  'schedule-remove': { id: 'a' },
  'schedule-run': { id: 'a', count: 100 },
  'task-cancel': { task_id: 'a' },
  'translation-task-update': { task_id: 'a', status: 'in_progress' },
  'translation-worker-run': { provider: 'fixture', fixture_path: 'a/b.json', concurrency: 256 },
  'translation-proofread': { task_id: 'a', reviewer: 'b', status: 'proofread' },
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
    target_language: 'zh-Hans',
    source,
  },
  'translation-glossary-update': { term_id: 'a', category: '' },
  'translation-glossary-approve': { term_id: 'a', reviewer: 'b' },
  'translation-glossary-deprecate': { term_id: 'a', reviewer: 'b', reason: 'c' },
  'translation-glossary-delete': { term_id: 'a' },
  'localized-publish': { from_worker: true, localized_release_id: '1.66-l1' },
  'localized-rollback': { localized_release_id: '1.66-l1' },
  'release-cleanup': { count: 1, args: ['dry_run=true'] },
};

function pointers(action: ControlAction, body: unknown): string[] {
  const parsed = parseControlBody(action, body);
  return parsed.ok ? [] : parsed.error.map(({ pointer }) => pointer);
}

describe('the body of a control call', () => {
  describe('parseControlBody', () => {
    it.each(CONTROL_ACTIONS)('accepts a valid body for %s and keeps all of it', (action) => {
      expect(parseControlBody(action, GOOD[action])).toEqual({
        ok: true,
        value: { body: GOOD[action], ignoredFields: [] },
      });
    });

    it.each(CONTROL_ACTIONS)('refuses %s without any of its required fields', (action) => {
      for (const field of actionDefinition(action).required) {
        const { [field]: _removed, ...rest } = GOOD[action];
        expect(pointers(action, rest), field).toContain(`/${field}`);
        if (typeof GOOD[action][field] === 'string') {
          expect(pointers(action, { ...rest, [field]: '' }), `empty ${field}`).toContain(`/${field}`);
        }
      }
    });

    it.each(CONTROL_ACTIONS)('%s uses only fields that exist, each named once', (action) => {
      const { required, used, choices } = actionDefinition(action);
      const named: ControlField[] = [...required, ...used];
      expect(named.filter((field) => !CONTROL_FIELDS.includes(field))).toEqual([]);
      expect(new Set(named).size).toBe(named.length);
      const chosen: ControlField[] = choices.flatMap((choice) => [...choice.fields]);
      expect(chosen.filter((field) => !named.includes(field))).toEqual([]);
    });

    it('treats an empty body as absent', () => {
      expect(parseControlBody('reload', undefined)).toEqual({
        ok: true,
        value: { body: {}, ignoredFields: [] },
      });
    });

    it.each([null, [], 'a', 1, true])('refuses the body %j', (body) => {
      expect(parseControlBody('reload', body)).toEqual({
        ok: false,
        error: [{ pointer: '', message: 'must be an object' }],
      });
    });

    it('lists valid fields that the action does not use, but never reviewer and reason', () => {
      const parsed = parseControlBody('reload', { force: true, task_id: 'a', reviewer: 'b', reason: 'c' });
      expect(parsed).toMatchObject({ ok: true, value: { ignoredFields: ['force', 'task_id'] } });
    });

    it('refuses unknown fields at any depth', () => {
      expect(pointers('reload', { nope: 1 })).toEqual(['/nope']);
      expect(pointers('reload', { 'a/b~c': 1 })).toEqual(['/a~1b~0c']);
      const add = { ...GOOD['translation-glossary-add'], source: { ...source, nope: 1 } };
      expect(pointers('translation-glossary-add', add)).toEqual(['/source/nope']);
      const results = [{ unit_id: 'a', source_text: 'b', translated_text: 'c', nope: 1 }];
      expect(pointers('translation-task-update', { task_id: 'a', translation_results: results })).toEqual([
        '/translation_results/0/nope',
      ]);
    });

    it.each<[string, unknown, unknown]>([
      ['concurrency', 1, 0],
      ['concurrency', 256, 257],
      ['max_runs', 1, 0],
      ['max_attempts', 1, 0],
      ['lease_seconds', 1, 0],
      ['max_tasks', 1, 0],
      ['retry_backoff_seconds', 0, -1],
      ['count', 2n ** 63n - 1n, 2n ** 63n],
      ['priority', -(2n ** 63n), -(2n ** 63n) - 1n],
      ['priority', 3, 3.5],
      ['next_run_unix_seconds', 0, '0'],
      ['review_status', 'draft', 'ok'],
      ['force', true, 'true'],
      ['args', ['a'], [1]],
      ['scope', { a: 'b' }, { a: 1 }],
      ['reason', 'a', null],
    ])('bounds %s: %s is valid, %s is not', (field, good, bad) => {
      expect(pointers('reload', { [field]: good })).toEqual([]);
      const [pointer = ''] = pointers('reload', { [field]: bad });
      expect(pointer.startsWith(`/${field}`)).toBe(true);
    });

    it('requires every field of a glossary override', () => {
      const override = {
        qa_identity: 'a',
        reviewer: 'b',
        reason: 'c',
        provenance: 'd',
        confirmed_unix_seconds: 1,
      };
      expect(pointers('reload', { glossary_override: override })).toEqual([]);
      for (const field of Object.keys(override)) {
        const { [field as keyof typeof override]: _removed, ...rest } = override;
        expect(pointers('reload', { glossary_override: rest })).toEqual([`/glossary_override/${field}`]);
      }
      expect(pointers('reload', { glossary_override: { ...override, qa_identity: '' } })).toHaveLength(1);
      expect(
        pointers('reload', { glossary_override: { ...override, confirmed_unix_seconds: 0 } }),
      ).toHaveLength(1);
    });

    it('keeps int64 fields to the last digit', () => {
      fc.assert(
        fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
          const parsed = parseControlBody('reload', parseJsonExact(`{"priority":${value}}`));
          expect(parsed.ok && BigInt(parsed.value.body.priority ?? 0)).toBe(value);
        }),
      );
    });

    it.each<[ControlAction, Record<string, unknown>, string]>([
      ['schedule-add', { group: 'res', action: 'verify' }, ''],
      ['schedule-add', { group: 'x', action: 'verify', delay_seconds: 1 }, '/group'],
      [
        'schedule-add',
        { group: 'res', action: 'verify', delay_seconds: 1, next_run_unix_seconds: 1 },
        '/delay_seconds',
      ],
      ['schedule-add', { group: 'res', action: 'verify', every_seconds: 0 }, '/every_seconds'],
      ['schedule-add', { group: 'res', action: 'verify', every_seconds: 1, args: ['a'] }, '/args/0'],
      ['schedule-update', { id: 'a' }, ''],
      ['schedule-update', { id: 'a', clear_args: false }, ''],
      ['schedule-update', { id: 'a', args: [], clear_args: true }, '/args'],
      ['schedule-update', { id: 'a', every_seconds: 1, clear_every: true }, '/every_seconds'],
      ['schedule-run', {}, ''],
      ['schedule-run', { id: 'a', group: 'res' }, '/id'],
      ['schedule-run', { id: 'a', count: 101 }, '/count'],
      ['schedule-run', { group: 'other' }, '/group'],
      ['verify', { args: ['nope=1'] }, '/args/0'],
      ['verify', { args: ['channel=beta'] }, '/args/0'],
      ['repair', { args: ['release_id=../x'] }, '/args/0'],
      ['release-cleanup', { args: ['dry_run=1'] }, '/args/0'],
      ['release-cleanup', { count: 0 }, '/count'],
      ['release-cleanup', { id: 'a', count: 1 }, '/count'],
      ['release-cleanup', { id: '../x' }, '/id'],
      ['translation-task-update', { task_id: 'a' }, ''],
      ['translation-task-update', { task_id: 'a', status: 'published' }, '/status'],
      ['translation-task-update', { task_id: 'a', status: 'failed' }, '/failure_reason'],
      ['translation-task-update', { task_id: 'a', status: 'skipped' }, '/reason'],
      ['translation-worker-run', { provider: 'fixture' }, '/fixture_path'],
      ['translation-worker-run', { fixture_path: '../a' }, '/fixture_path'],
      ['translation-worker-run', { glossary_path: '/etc/passwd' }, '/glossary_path'],
      ['translation-worker-run', { translation_memory_path: 'a\0b' }, '/translation_memory_path'],
      ['translation-proofread', { task_id: 'a', status: 'proofread' }, '/reviewer'],
      ['translation-proofread', { task_id: 'a', reviewer: 'b', status: 'pending' }, '/reason'],
      ['translation-proofread', { task_id: 'a', reviewer: 'b', status: 'failed', reason: 'c' }, '/status'],
      ['translation-proofread', { translation_file: 'a.xlf' }, '/reviewer'],
      ['translation-proofread', { translation_file: 'a.xlf', task_id: 'a', reviewer: 'b' }, '/task_id'],
      ['translation-glossary-update', { term_id: 'a', reviewer: 'b' }, ''],
      ['translation-glossary-update', { term_id: 'a', review_status: 'approved' }, '/review_status'],
      ['translation-glossary-update', { term_id: 'a', review_status: 'rejected', reviewer: 'b' }, '/reason'],
      ['localized-publish', {}, ''],
      ['localized-publish', { from_worker: false }, ''],
      ['localized-publish', { from_worker: true, patch_manifest: 'a' }, '/patch_manifest'],
      ['localized-publish', { from_worker: true, localized_release_id: 'a/b' }, '/localized_release_id'],
    ])('refuses %s with %j', (action, body, pointer) => {
      expect(pointers(action, body)).toContain(pointer);
    });

    it('requires a winner and at least two different records', () => {
      const good = GOOD['translation-memory-resolve-conflict'];
      const action = 'translation-memory-resolve-conflict';
      expect(pointers(action, { ...good, winner_record_id: 'z' })).toEqual(['/winner_record_id']);
      for (const ids of [['a'], ['a', 'a']]) {
        expect(pointers(action, { ...good, expected_trusted_record_ids: ids })).toEqual([
          '/expected_trusted_record_ids',
        ]);
      }
    });

    it('adds an approved term only with a reviewer, and never a rejected one', () => {
      const good = GOOD['translation-glossary-add'];
      expect(pointers('translation-glossary-add', { ...good, review_status: 'approved' })).toEqual([
        '/reviewer',
      ]);
      expect(pointers('translation-glossary-add', { ...good, review_status: 'rejected' })).toEqual([
        '/review_status',
      ]);
    });

    it('never throws, whatever the input', () => {
      fc.assert(
        fc.property(
          fc.constantFrom(...CONTROL_ACTIONS),
          fc.anything({ withBigInt: true }),
          (action, value) => {
            expect(typeof parseControlBody(action, value).ok).toBe('boolean');
          },
        ),
      );
    });
  });

  describe('the errors of a body', () => {
    const errorsOf = (value: unknown): FieldError[] => {
      const parsed = parseControlBody('translation-task-update', value);
      return parsed.ok ? [] : parsed.error;
    };

    it('name one error of each kind and count the others', () => {
      expect(
        errorsOf({
          zoo: 1,
          ape: 2,
          cat: 3,
          force: 1,
          aliases: [1, 'a', 2],
          glossary_override: { x: 1, y: 1 },
        }),
      ).toEqual(
        expect.arrayContaining([
          { pointer: '/zoo', message: 'is not a field of this body (and 2 more like it)' },
          { pointer: '/force', message: 'must be true or false' },
          { pointer: '/aliases/0', message: 'must be a string (and 1 more like it)' },
          { pointer: '/glossary_override/x', message: 'is not a field of this body (and 1 more like it)' },
        ]),
      );
    });

    it('stop at the first wrong result of a list', () => {
      const good = { unit_id: 'u', source_text: 's', translated_text: 't' };
      const results = [good, ...Array.from({ length: 9_000 }, () => ({ a: 1, b: 2, c: 3, d: 4 }))];
      const errors = errorsOf({ task_id: 't', status: 'pending', translation_results: results });
      expect(errors.map(({ pointer }) => pointer)).toEqual([
        '/translation_results/1/unit_id',
        '/translation_results/1/source_text',
        '/translation_results/1/translated_text',
        '/translation_results/1/a',
      ]);
      expect(errors.at(-1)?.message).toBe('is not a field of this body (and 3 more like it)');
    });

    it('are bounded when each of many kinds has one', () => {
      const scope = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`k${at}`, 1]));
      const errors = errorsOf({ scope });
      expect(errors).toHaveLength(51);
      expect(errors.at(-1)).toEqual({ pointer: '', message: '950 more errors are not listed' });
    });
  });

  describe('isControlAction', () => {
    it('accepts only the allowlist', () => {
      expect(CONTROL_ACTIONS).toHaveLength(25);
      expect(CONTROL_ACTIONS.every(isControlAction)).toBe(true);
      expect(['', 'Sync', 'toString', '__proto__', 'sync '].some(isControlAction)).toBe(false);
    });
  });
});

describe('a whole number', () => {
  it.each([
    [1, 1],
    [2n ** 63n - 1n, Number.MAX_SAFE_INTEGER],
    [-(2n ** 63n), Number.MIN_SAFE_INTEGER],
  ])('of %s becomes %s, and is taken again', (value, expected) => {
    const parsed = wholeNumber({}).parse(value);
    expect(parsed).toBe(expected);
    expect(wholeNumber({}).parse(parsed)).toBe(expected);
  });

  it.each([0, -(2n ** 63n)])('of %s is refused below its bound', (value) => {
    expect(wholeNumber({ min: 1 }).safeParse(value).success).toBe(false);
  });
});
