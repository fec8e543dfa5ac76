import { assert, bigInt, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseControlBody } from '../../../src/contract/actions/parse-control-body.ts';
import { parseJsonExact } from '../../../src/contract/json/json-exact.ts';
import { INT64_MAX, INT64_MIN } from '../../../src/contract/schemas/int64.ts';
import { parseExact, renderExact } from '../../../src/console/text/exact-json.ts';
import { fieldAt, fieldsOf, readFields } from '../../../src/console/forms/form-model.ts';
import { renderConsoleContract } from '../../../src/contract/console/console-contract.ts';

const CONTRACT = renderConsoleContract();

function formOf(action: string): ReturnType<typeof fieldsOf> {
  return fieldsOf(CONTRACT.actions[action]!.schema, CONTRACT.switches);
}

describe('the form of an action', () => {
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
      { path: 'task_id', message: 'is needed' },
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
