import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../../../src/contract/operations/operations.ts';
import { parseQuery, renderQuery } from '../../../../src/contract/operations/query-parser.ts';
import { STRING_MAP_PATTERN } from '../../../../src/contract/schemas/parameters.ts';
import type { QuerySchema } from '../../../../src/contract/schemas/query.ts';

function parse(operation: { readonly query: QuerySchema }, query: string): unknown {
  const parsed = parseQuery(operation.query, new URLSearchParams(query));
  return parsed.ok ? parsed.value : parsed.error.map(({ pointer, message }) => `${pointer} ${message}`);
}

function rejects(operation: { readonly query: QuerySchema }, query: string): string[] {
  const parsed = parseQuery(operation.query, new URLSearchParams(query));
  return parsed.ok ? [] : parsed.error.map(({ pointer }) => pointer);
}

describe('parseQuery', () => {
  it('fills in defaults', () => {
    expect(parse(OPERATIONS.listResources, '')).toEqual({ offset: 0, limit: 100 });
    expect(parse(OPERATIONS.getDistribution, '')).toEqual({ channel: 'official', offset: 0, limit: 100 });
    expect(parse(OPERATIONS.getLogs, '')).toEqual({ tail: 200 });
    expect(parse(OPERATIONS.queryMemory, 'source_text=a')).toEqual({ source_text: 'a', limit: 100 });
  });

  it.each(['0', '1001', '-1', '+1', '1.0', '1e2', ' 1', '0x10', '', 'NaN', '99999999999999999999'])(
    'refuses limit=%s',
    (value) => {
      const query = `limit=${encodeURIComponent(value)}`;
      expect(rejects(OPERATIONS.listResources, query)).toContain('limit');
      expect(rejects(OPERATIONS.listMemoryConflicts, query)).toContain('limit');
    },
  );

  it.each(['1', '1000'])('accepts limit=%s', (value) => {
    expect(parse(OPERATIONS.listResources, `limit=${value}`)).toEqual({ offset: 0, limit: Number(value) });
  });

  it('bounds offset by the exact range of a number', () => {
    expect(parse(OPERATIONS.listResources, 'offset=9007199254740991')).toMatchObject({
      offset: 9007199254740991,
    });
    expect(rejects(OPERATIONS.listResources, 'offset=9007199254740992')).toEqual(['offset']);
  });

  it('bounds tail', () => {
    expect(parse(OPERATIONS.getLogs, 'tail=2000')).toEqual({ tail: 2000 });
    expect(rejects(OPERATIONS.getLogs, 'tail=2001')).toEqual(['tail']);
    expect(rejects(OPERATIONS.getLogs, 'tail=0')).toEqual(['tail']);
  });

  it('keeps every path_id to the last digit', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        expect(parse(OPERATIONS.listTextUnits, `path_id=${value}`)).toMatchObject({ path_id: value });
      }),
    );
  });

  it.each(['9223372036854775808', '-9223372036854775809', '1.5', '--1', ''])(
    'refuses path_id=%s',
    (value) => {
      expect(rejects(OPERATIONS.listTextUnits, `path_id=${value}`)).toContain('path_id');
    },
  );

  it('reads booleans strictly', () => {
    expect(parse(OPERATIONS.listSchedules, 'enabled=true')).toEqual({ enabled: true });
    expect(parse(OPERATIONS.listSchedules, 'enabled=false')).toEqual({ enabled: false });
    for (const value of ['1', 'True', 'yes', '']) {
      expect(rejects(OPERATIONS.listSchedules, `enabled=${value}`)).toEqual(['enabled']);
    }
  });

  it('counts an empty required text as missing', () => {
    expect(parse(OPERATIONS.getTaskStatus, '')).toEqual(['task_id is required']);
    expect(rejects(OPERATIONS.getTaskLogs, 'task_id=')).toEqual(['task_id']);
    expect(rejects(OPERATIONS.queryMemory, 'source_text=')).toEqual(['source_text']);
    expect(rejects(OPERATIONS.diagnoseGlossary, '')).toEqual(['source_text']);
  });

  it('reads a context only if it is a JSON object of strings', () => {
    const context = encodeURIComponent('{"speaker":"アル"}');
    expect(parse(OPERATIONS.diagnoseGlossary, `source_text=a&context=${context}`)).toMatchObject({
      context: { speaker: 'アル' },
    });
    for (const bad of [
      '',
      'a',
      '[]',
      '"a"',
      'null',
      '{"a":1}',
      '{"a":{"b":"c"}}',
      '{"a":"b","a":"c"}',
      '{',
    ]) {
      const query = `source_text=a&source_context=${encodeURIComponent(bad)}`;
      expect(rejects(OPERATIONS.queryMemory, query), bad).toEqual(['source_context']);
    }
  });

  it('refuses unknown and repeated parameters on admin routes', () => {
    expect(parse(OPERATIONS.getDiagnostics, 'a=1')).toEqual(['a is not a parameter of this operation']);
    expect(parse(OPERATIONS.getLogs, 'tail=1&tail=2')).toEqual(['tail must not be repeated']);
    expect(rejects(OPERATIONS.getDiagnostics, '__proto__=1&constructor=2')).toEqual([
      '__proto__',
      'constructor',
    ]);
  });

  it('ignores unknown parameters on public routes, whatever their names', () => {
    expect(parse(OPERATIONS.getBootstrap, 'nocache=1&nocache=2&__proto__=x')).toEqual({});
    expect(parse(OPERATIONS.getLauncherConfigJson, 'version=1&file_path=a%2Fb&x=1')).toEqual({
      version: '1',
      file_path: 'a/b',
    });
  });

  it('never treats the token as a parameter', () => {
    expect(parse(OPERATIONS.getDiagnostics, 'svc_token=secret')).toEqual({});
  });

  it('refuses an unknown channel and review status', () => {
    expect(rejects(OPERATIONS.listReleases, 'channel=beta')).toEqual(['channel']);
    expect(rejects(OPERATIONS.queryGlossary, 'review_status=ok')).toEqual(['review_status']);
    expect(rejects(OPERATIONS.listSchedules, 'group=other')).toEqual(['group']);
  });
});

describe('renderQuery', () => {
  it('is the inverse of parseQuery', () => {
    const values = fc.record({
      offset: fc.nat(),
      limit: fc.integer({ min: 1, max: 1000 }),
      path_id: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      destination: fc.string({ minLength: 1, maxLength: 50 }),
    });
    fc.assert(
      fc.property(values, (original) => {
        const parsed = parseQuery(OPERATIONS.listTextUnits.query, renderQuery(original));
        expect(parsed).toEqual({ ok: true, value: original });
      }),
    );
  });

  it('renders a map as JSON and omits absent values', () => {
    expect(renderQuery({ context: { a: 'b' }, enabled: false, id: undefined }).toString()).toBe(
      'context=%7B%22a%22%3A%22b%22%7D&enabled=false',
    );
  });
});

describe('the pattern of a JSON object with string values', () => {
  const isAccepted = (text: string): boolean =>
    rejects(OPERATIONS.diagnoseGlossary, `source_text=a&context=${encodeURIComponent(text)}`).length === 0;

  it.each(['{}', ' {\t}\n', '{"a":"b"}', ' { "a" : "b" , "c":"" } ', '{"\\u00e9\\"\\\\":"\\/日本"}'])(
    'matches %j, which is accepted',
    (text) => {
      expect([new RegExp(STRING_MAP_PATTERN, 'u').test(text), isAccepted(text)]).toEqual([true, true]);
    },
  );

  it.each([
    '',
    'a',
    '[]',
    '{"a":1}',
    '{"a":"b",}',
    '{a:"b"}',
    '{"a":{"b":"c"}}',
    '{"a":"\n"}',
    '{"a":"\\x"}',
    '"a"',
  ])('does not match %j, which is refused', (text) => {
    expect([new RegExp(STRING_MAP_PATTERN, 'u').test(text), isAccepted(text)]).toEqual([false, false]);
  });
});

describe('parameters whose values do not matter', () => {
  it('count as absent when they are too long, so that launchers get their answer', () => {
    const long = 'x'.repeat(1025);
    expect(parse(OPERATIONS.getLauncherConfigJson, `version=${long}&file_path=a`)).toEqual({
      file_path: 'a',
    });
  });
});
