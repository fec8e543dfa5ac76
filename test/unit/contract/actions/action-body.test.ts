import { describe, expect, expectTypeOf, it } from 'vitest';
import type { BodyOf } from '../../../../src/contract/actions/body-of.ts';
import { parseKeyValuePairs } from '../../../../src/contract/actions/key-value-arguments.ts';
import { parseActionBody } from '../../../../src/contract/actions/parse-control-body.ts';
import type { QueryOf, ReportBodyOf } from '../../../../src/contract/reports/reports.ts';
import type { Channel } from '../../../../src/domain/release/channel.ts';
import type { ReleaseId } from '../../../../src/domain/release/release-id.ts';
import { z } from 'zod';

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
    expect(parseKeyValuePairs(schema, ['name=a=b'])).toEqual({ ok: true, value: { name: 'a=b', on: false } });
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
