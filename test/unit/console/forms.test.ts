import { firstFields } from '../../../src/console/forms/form-layout.ts';
import {
  assert,
  bigInt,
  constantFrom,
  dictionary,
  integer,
  oneof,
  property,
  record,
  string,
} from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canTry, trialOf } from '../../../src/console/actions/dry-run.ts';
import {
  actionFields,
  actionValues,
  chosenFields,
  forPeople,
  layoutOf,
  withReviewer,
  spreadArguments,
  type FormItem,
} from '../../../src/console/forms/action-fields.ts';
import { fieldAt, fieldsOf, ONCE, readFields, type Values } from '../../../src/console/forms/form-model.ts';
import {
  instantOf,
  joinDuration,
  localTextOf,
  splitDuration,
  unixTextOf,
  zoneText,
} from '../../../src/console/forms/time-texts.ts';
import { parseExact, renderExact } from '../../../src/console/text/exact-json.ts';
import { CONTROL_ACTIONS } from '../../../src/contract/actions/actions.ts';
import { parseControlBody } from '../../../src/contract/actions/parse-control-body.ts';
import { renderConsoleContract } from '../../../scripts/console/console-contract.ts';
import { parseJsonExact } from '../../../src/contract/json/json-exact.ts';
import { INT64_MAX, INT64_MIN } from '../../../src/contract/schemas/int64.ts';

const CONTRACT = renderConsoleContract();

const NOTHING_FIXED: ReadonlySet<string> = new Set();

function layout(action: string, values: Values = {}, fixed = NOTHING_FIXED): ReturnType<typeof layoutOf> {
  return layoutOf(action, CONTRACT.actions[action]!, actionFields(CONTRACT, action, values), fixed);
}

/** The body that a form with these values sends. */
function bodyOf(action: string, values: Values, unchanged: Values = {}): object {
  const chosen = chosenFields(layout(action, values), values);
  return readFields(chosen.fields, chosen.values, unchanged).body;
}

function names(items: readonly FormItem[]): string[] {
  return items.map((item) =>
    item.kind === 'field' ? item.field.name : item.fields.map(({ name }) => name).join('|'),
  );
}

describe('the form of an action', () => {
  it('asks nobody for a name: whoever decides is the token', () => {
    const sent = (action: string, body: object): object =>
      withReviewer(action, CONTRACT.actions[action]!, { ...body }, 'rin');
    expect(sent('translation-glossary-approve', {})).toEqual({ reviewer: 'rin' });
    expect(sent('translation-proofread', {})).toEqual({ reviewer: 'rin' });
    expect(sent('translation-glossary-add', { review_status: 'approved' })).toHaveProperty('reviewer', 'rin');
    expect(sent('task-cancel', { reason: 'wrong file' })).toHaveProperty('reviewer', 'rin');
    // A term that is only proposed has no reviewer.
    expect(sent('translation-glossary-add', { review_status: 'draft' })).not.toHaveProperty('reviewer');
    expect(sent('sync', {})).toEqual({});
  });

  it('shows first what everyone needs, and every other field under more', () => {
    expect(names(layout('schedule-add', { action: 'verify' }).first)).toEqual([
      'group',
      'action',
      'args',
      'every_seconds',
      'next_run_unix_seconds|delay_seconds',
      'id',
    ]);
    expect(names(layout('schedule-add').more)).toEqual(['max_runs', 'enabled', 'reason']);
    for (const action of CONTROL_ACTIONS) {
      const { first, more } = layout(action);
      const shown = new Set(names([...first, ...more]).flatMap((name) => name.split('|')));
      const hidden = new Set(['clear_args', 'clear_every', 'args', 'reviewer']);
      const wanted = Object.keys(CONTRACT.actions[action]!.schema.properties);
      expect(wanted.filter((name) => !shown.has(name) && !hidden.has(name))).toEqual([]);
      const { required } = CONTRACT.actions[action]!.schema;
      const listed = firstFields(action, required);
      expect(listed.filter((name) => !wanted.includes(name))).toEqual([]);
      expect(new Set(listed).size).toBe(listed.length);
      // The form fills in where a term comes from, and who decides.
      const filled = new Set(['source', 'reviewer']);
      expect(required.filter((name) => !listed.includes(name) && !filled.has(name))).toEqual([]);
    }
  });

  it('asks for the arguments of the job that a schedule runs, and sends them as pairs', () => {
    const values = { group: 'res', action: 'verify', 'args.channel': 'official', 'args.force': true };
    const args = actionFields(CONTRACT, 'schedule-add', values).find(({ name }) => name === 'args');
    expect(args?.members.map(({ name }) => name)).toEqual(['channel', 'release_id', 'force']);
    expect(bodyOf('schedule-add', values)).toEqual({
      group: 'res',
      action: 'verify',
      args: ['channel=official', 'force=true'],
    });
    const parse = actionFields(CONTRACT, 'schedule-add', { group: 'parse', action: 'parse' });
    expect(parse.some(({ name }) => name === 'args')).toBe(false);
    const job = parse.find(({ name }) => name === 'action');
    expect(job?.options).toEqual(['parse', 'parse-full', 'text-differences']);
    // A daemon of another version may have a job that this console does not know.
    const unknown = { group: 'res', action: 'defragment', args: 'depth=2' };
    expect(bodyOf('schedule-add', unknown)).toMatchObject({ action: 'defragment', args: ['depth=2'] });
  });

  it('never asks for a dry run, which the dialog sends by itself', () => {
    const worker = actionFields(CONTRACT, 'translation-worker-run', {}).find(({ name }) => name === 'args');
    expect(worker?.members.map(({ name }) => name)).toEqual([
      'max_tokens',
      'max_cost',
      'suggest',
      'try_text',
    ]);
    expect(actionFields(CONTRACT, 'release-cleanup', {}).some(({ name }) => name === 'args')).toBe(false);
    expect(trialOf({ count: 1, args: ['a=b', 'dry_run=false'] })).toEqual({
      count: 1,
      args: ['a=b', 'dry_run=true'],
    });
    expect(canTry('release-cleanup', true, {})).toBe(true);
    expect(canTry('release-cleanup', true, { args: ['dry_run=true'] })).toBe(false);
    expect(canTry('translation-proofread', true, { translation_file: 'a.xlf' })).toBe(false);
    expect(canTry('translation-proofread', true, { task_id: 'tt_1' })).toBe(true);
    expect(canTry('sync', false, {})).toBe(false);
  });

  it('sends only the chosen one of fields that exclude each other', () => {
    const typed = { translation_file: 'a.json', patch_manifest: 'b.json' };
    const [choice] = layout('localized-publish').first;
    if (choice?.kind !== 'choice') throw new Error('the input is not a choice');
    expect(bodyOf('localized-publish', { ...typed, [choice.path]: 'patch_manifest' })).toEqual({
      patch_manifest: 'b.json',
    });
    expect(bodyOf('localized-publish', { ...typed, [choice.path]: 'from_worker' })).toEqual({
      from_worker: true,
    });
    // The first one is chosen when nothing was.
    expect(bodyOf('localized-publish', {})).toEqual({ from_worker: true });
    expect(bodyOf('release-cleanup', {})).toEqual({});
    expect(bodyOf('release-cleanup', { count: '2' })).toEqual({ count: 2n });
    expect(names(layout('schedule-run', { id: 'x' }, new Set(['id'])).first)).toEqual(['id']);
  });

  it('takes an interval and arguments away from a schedule', () => {
    const body = { id: 's', action: 'verify', group: 'res', args: ['channel=official'], every_seconds: 60 };
    const { values: before } = actionValues(CONTRACT, 'schedule-update', body);
    expect(before).toMatchObject({ 'args.channel': 'official', every_seconds: '60' });
    expect(bodyOf('schedule-update', before, before)).toEqual({ id: 's' });
    const after = { ...before, 'args.channel': '', every_seconds: ONCE };
    expect(bodyOf('schedule-update', after, before)).toEqual({
      id: 's',
      clear_args: true,
      clear_every: true,
    });
    const other = { ...before, action: 'sync', 'args.channel': 'official' };
    expect(bodyOf('schedule-update', other, before)).toEqual({ id: 's', action: 'sync', clear_args: true });
    const bare = { ...before, group: 'parse', action: 'parse' };
    expect(bodyOf('schedule-update', bare, before)).toMatchObject({ action: 'parse', clear_args: true });
  });

  it('finds the field of an error about one of its arguments', () => {
    const fields = actionFields(CONTRACT, 'verify', {});
    expect(fieldAt('/args/1', fields, ['channel=official', 'release_id=/'])).toBe('args.release_id');
    expect(fieldAt('/args/0', fields, ['nothing=1'])).toBe('args');
    expect(fieldAt('/args', fields)).toBe('args');
  });

  it('tells people the labels of fields, and not their names', () => {
    const fields = actionFields(CONTRACT, 'schedule-add', {});
    const [told] = forPeople(
      [{ path: '', message: 'needs at least one of next_run_unix_seconds, delay_seconds, every_seconds' }],
      fields,
    );
    expect(told?.message).toBe('needs at least one of “Next run at”, “Wait before the next run”, “Repeat”');
  });

  it('takes arguments that a page gives as lines', () => {
    const fields = actionFields(CONTRACT, 'verify', {});
    expect(spreadArguments(fields, { args: 'channel=official\nrelease_id=r1' })).toEqual({
      'args.channel': 'official',
      'args.release_id': 'r1',
    });
  });
});

describe('the form and the JSON of a body', () => {
  it('property: say the same, whatever was typed', () => {
    const text = string({ minLength: 1, unit: 'grapheme' }).filter((each) => each.trim() === each);
    const bodies = record(
      {
        id: text,
        group: constantFrom('res', 'parse', 'i18n'),
        action: constantFrom('verify', 'sync', 'unknown-job'),
        every_seconds: integer({ min: 1 }),
        delay_seconds: integer({ min: 0 }),
        max_runs: integer({ min: 1 }),
        enabled: constantFrom(true, false),
        reason: text,
      },
      { requiredKeys: ['group', 'action'] },
    );
    assert(
      property(bodies, (body) => {
        const { values, lost } = actionValues(CONTRACT, 'schedule-add', body);
        expect(lost).toEqual([]);
        const read = JSON.parse(
          JSON.stringify(bodyOf('schedule-add', values), (_key, value: unknown) =>
            typeof value === 'bigint' ? Number(value) : value,
          ),
        ) as object;
        expect(read).toEqual(body);
      }),
    );
  });

  it('property: nothing of a body is lost without being named', () => {
    const value = oneof(string(), integer(), constantFrom(true, null, [1], { a: 1 }));
    assert(
      property(dictionary(string(), value), (body) => {
        const { values, lost } = actionValues(CONTRACT, 'translation-glossary-add', body);
        const shown = new Set(Object.keys(values).map((path) => path.split('.')[0]));
        const empty = (name: string): boolean => body[name] === null || body[name] === '';
        for (const name of Object.keys(body)) {
          expect(shown.has(name) || lost.some((each) => each.startsWith(name)) || empty(name)).toBe(true);
        }
      }),
    );
  });

  it('keeps a term with all of its members', () => {
    const body = {
      source_term: '先生',
      recommended_translation: 'Sensei',
      source_language: 'ja',
      target_language: 'en',
      source: { source_kind: 'manual', observed_unix_seconds: 1_763_683_200 },
      aliases: ['せんせい', '教師'],
      scope: { character: 'Arona' },
      priority: -3,
    };
    const { values, lost } = actionValues(CONTRACT, 'translation-glossary-add', body);
    expect(lost).toEqual([]);
    const read = bodyOf('translation-glossary-add', values);
    const sent: unknown = JSON.parse(
      JSON.stringify(read, (_key, each: unknown) => (typeof each === 'bigint' ? Number(each) : each)),
    );
    expect(sent).toEqual(body);
    expect(parseControlBody('translation-glossary-add', sent)).toMatchObject({ ok: true });
    expect(actionValues(CONTRACT, 'translation-glossary-add', { ...body, priority: 1.5 }).lost).toEqual([
      'priority',
    ]);
  });
});

function formOf(action: string): ReturnType<typeof fieldsOf> {
  return fieldsOf(CONTRACT.actions[action]!.schema);
}

describe('the model of a form', () => {
  it('has a kind of field for each kind of value', () => {
    const kinds = Object.fromEntries(
      Object.keys(CONTRACT.actions).flatMap((action) => formOf(action).map(({ name, kind }) => [name, kind])),
    );
    expect(kinds).toMatchObject({
      force: 'switch',
      enabled: 'boolean',
      review_status: 'choice',
      next_run_unix_seconds: 'instant',
      every_seconds: 'interval',
      delay_seconds: 'duration',
      id: 'text',
      reason: 'prose',
      args: 'lines',
      scope: 'pairs',
      source: 'group',
      translation_results: 'json',
    });
  });

  it('becomes a body that the contract accepts', () => {
    const { body, problems } = readFields(formOf('translation-glossary-add'), {
      source_term: '先生',
      recommended_translation: ' Sensei',
      source_language: 'ja',
      target_language: 'en',
      'source.source_kind': 'manual',
      'source.observed_unix_seconds': '1763683200',
      aliases: 'せんせい\n\n 教師 ',
      scope: 'character=Arona\nnote=a=b',
      priority: '-3',
      reviewer: '',
    });
    expect(problems).toEqual([]);
    const sent = parseJsonExact(renderExact(body));
    expect(parseControlBody('translation-glossary-add', sent)).toMatchObject({ ok: true });
    expect(sent).toEqual({
      source_term: '先生',
      recommended_translation: ' Sensei',
      source_language: 'ja',
      target_language: 'en',
      source: { source_kind: 'manual', observed_unix_seconds: 1763683200 },
      aliases: ['せんせい', '教師'],
      scope: { character: 'Arona', note: 'a=b' },
      priority: -3,
    });
  });

  it('property: keeps every integer of 64 bits, and refuses all other values', () => {
    const fields = formOf('translation-glossary-add').filter(({ name }) => name === 'priority');
    assert(
      property(bigInt({ min: INT64_MIN, max: INT64_MAX }), (value) => {
        const { body } = readFields(fields, { priority: String(value) });
        expect(renderExact(body)).toBe(`{"priority":${value}}`);
        expect(renderExact(parseExact(`{"n":${value}}`))).toBe(`{"n":${value}}`);
      }),
    );
    for (const text of ['1.5', '1e3', '0x10', '--1', 'ten', '1 000']) {
      expect(readFields(fields, { priority: text }).problems).toHaveLength(1);
    }
  });

  it('names missing and out-of-bounds values before anything is sent', () => {
    const { problems } = readFields(formOf('translation-worker-run'), { concurrency: '257', max_tasks: '0' });
    expect(problems).toEqual([
      { path: 'concurrency', message: 'must be at most 256' },
      { path: 'max_tasks', message: 'must be at least 1' },
    ]);
    expect(readFields(formOf('task-cancel'), { task_id: '' }).problems).toEqual([
      { path: 'task_id', message: 'is required' },
    ]);
    expect(
      readFields(formOf('translation-glossary-update'), { term_id: 't', 'source.source_ref': 'x' }).problems,
    ).toMatchObject([{ path: 'source.source_kind' }, { path: 'source.observed_unix_seconds' }]);
  });

  it('sends switches only when they are on, and only the changes of an edit', () => {
    const fields = formOf('schedule-update');
    const before = { id: 's', group: 'res', args: 'channel=official', every_seconds: '60', enabled: 'true' };
    const after = { ...before, enabled: 'false', args: '' };
    expect(readFields(fields, after, before).body).toEqual({ id: 's', clear_args: true, enabled: false });
  });

  it('finds the field of a server error', () => {
    const fields = formOf('translation-glossary-add');
    expect(fieldAt('/source/source_kind', fields)).toBe('source.source_kind');
    expect(fieldAt('/aliases/3', fields)).toBe('aliases');
    expect(fieldAt('', fields)).toBe(null);
    expect(fieldAt('/elsewhere', fields)).toBe(null);
  });
});

describe('typed times', () => {
  describe('a typed duration', () => {
    it('is shown in the largest unit that divides it', () => {
      expect(splitDuration('7200')).toEqual({ amount: '2', unit: 3600 });
      expect(splitDuration('90')).toEqual({ amount: '90', unit: 1 });
      expect(splitDuration('604800')).toEqual({ amount: '1', unit: 604_800 });
      expect(splitDuration('0')).toEqual({ amount: '0', unit: 1 });
      expect(splitDuration('')).toMatchObject({ amount: '' });
    });

    it('takes fractions, and leaves any other text to the form', () => {
      expect(joinDuration({ amount: '1.5', unit: 3600 })).toBe('5400');
      expect(joinDuration({ amount: '0,5', unit: 60 })).toBe('30');
      expect(joinDuration({ amount: 'soon', unit: 60 })).toBe('soon');
      expect(joinDuration({ amount: '-1', unit: 60 })).toBe('-1');
    });

    it('property: keeps every number of seconds', () => {
      assert(
        property(bigInt({ min: 0n, max: INT64_MAX }), (seconds) => {
          expect(joinDuration(splitDuration(String(seconds)))).toBe(String(seconds));
        }),
      );
    });
  });

  describe('a typed instant', () => {
    it('property: keeps every second that a calendar has', () => {
      // The last second of the year 9998: every zone still writes its year with four digits.
      assert(
        property(integer({ min: 0, max: 253_370_764_799 }), (at) => {
          const text = localTextOf(String(at));
          expect(text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/);
          // An hour that a change of the clock repeats has two instants.
          expect(Math.abs(Number(unixTextOf(text)) - at) % 1800).toBe(0);
        }),
      );
    });

    it('is empty for any other text', () => {
      for (const text of ['', '-1', '1e3', 'now', '9999999999999', '999999999999']) {
        expect(localTextOf(text)).toBe('');
      }
      expect(unixTextOf('')).toBe('');
      expect(instantOf('x')).toBe(null);
    });

    it('names the zone of the reader', () => {
      expect(zoneText(new Date(0))).toMatch(/^(?:UTC|[\w/+-]+, UTC[+-]\d\d:\d\d)$/);
    });
  });
});
