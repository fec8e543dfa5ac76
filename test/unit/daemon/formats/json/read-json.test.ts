import { describe, expect, it } from 'vitest';
import { readJson } from '../../../../../src/daemon/formats/json/read-json.ts';
import { decodedString, decodeText } from '../../../../../src/daemon/formats/text/decode-text.ts';
import type { ReadLimits } from '../../../../../src/daemon/formats/value-visitor.ts';
import { campaignSize } from '../../../../support/long.ts';
import { mutations } from '../../../../support/mutate.ts';
import {
  createValueRecorder,
  formatErrorOf,
  type ValueRecorder,
} from '../../../../support/value-recorder.ts';

function read(text: string, limits: Partial<ReadLimits> = {}): ValueRecorder {
  const recorder = createValueRecorder(limits);
  readJson(decodedString(text), recorder);
  return recorder;
}

const eventsOf = (text: string): string => read(text).events.join(' ');
const errorOf = (text: string, limits: Partial<ReadLimits> = {}): ReturnType<typeof formatErrorOf> =>
  formatErrorOf(() => read(text, limits));

const SAMPLE = JSON.stringify({
  version: 3,
  rows: [
    { Id: 1, TextJp: 'こんにちは\n「世界」', Speaker: 'アリス', Weight: 1.5, Flag: true },
    {
      Id: 2,
      TextJp: 'さようなら 😀',
      Speaker: null,
      Tags: ['a', 'b', []],
      Nested: { deep: { deeper: 'x' } },
    },
  ],
});

describe('readJson', () => {
  it('reports objects, arrays, fields and values in their order', () => {
    expect(eventsOf('{"a":["x",1,{"b":null}],"c":{},"d":[]}')).toBe(
      '{ a: [ "x" 1 { b: ? } ] c: { } d: [ ] }',
    );
    expect(eventsOf(' "root" ')).toBe('"root"');
    expect(eventsOf('12')).toBe('12');
  });

  it('reports the position of the encoded string, quotes included', () => {
    const text = '{"a" : "x\\n\\u3042" ,"b":"",\r\n"c":["😀"]}';
    const { texts } = read(text);
    expect(texts.map(({ start, end }) => JSON.parse(text.slice(start, end)) as string)).toEqual([
      'x\nあ',
      '',
      '😀',
    ]);
    expect(texts.map(({ value }) => value)).toEqual(['x\nあ', '', '😀']);
  });

  it('reports integers exactly, and every other number as another value', () => {
    expect(eventsOf('[0,-0,-7,9007199254740991,9007199254740993,-9223372036854775808,1.0,1e3]')).toBe(
      '[ 0 0 -7 9007199254740991 9007199254740993 -9223372036854775808 ? ? ]',
    );
    const digits = '9'.repeat(1_000_000);
    expect(eventsOf(`[${digits}]`)).toBe('[ ? ]');
  });

  it('reports of a key that an object has twice the last value only', () => {
    const { events, errors } = read(
      '{"あ":{"x":["lost"]},"b":[{"k":"lost","k":"lost","k":"kept"}],"あ":"kept","c":1}',
    );
    expect(events.join(' ')).toBe('{ b: [ { k: "kept" } ] あ: "kept" c: 1 }');
    expect(errors).toEqual([
      { code: 'duplicate_key', path: '/あ', offset: 1 },
      { code: 'duplicate_key', path: '/b/0/k', offset: 28 },
      { code: 'duplicate_key', path: '/b/0/k', offset: 39 },
    ]);
    expect(eventsOf('{"a":[1,{"b":[]}],"a":[]}')).toBe('{ a: [ ] }');
    expect(eventsOf('{"__proto__":"x","constructor":"y","a/b~":{"":"z"}}')).toBe(
      '{ __proto__: "x" constructor: "y" a/b~: { : "z" } }',
    );
    expect(read('{"a/b~":1,"a/b~":2}').errors).toMatchObject([{ path: '/a~1b~0' }]);
  });

  it('finds 100,000 duplicate keys without counting the text again for each', () => {
    const { errors } = read(`{${'"あ":"いろは",'.repeat(100_000)}"あ":1}`);
    expect(errors.length).toBe(100_000);
    expect(errors.at(-1)).toEqual({ code: 'duplicate_key', path: '/あ', offset: 1 + 99_999 * 18 });
  });

  it.each([
    ['nothing', '', 0],
    ['a comment', '[1,/* x */2]', 3],
    ['a trailing comma', '{"a":1,}', 7],
    ['a trailing comma in an array', '["あ",]', 7],
    ['a second value', '{} {}', 3],
    ['an open object', '{"a":"あ"', 10],
    ['an open string', '["あ', 1],
    ['a control character', '["a\u0001"]', 1],
    ['an unknown escape', '["\\x"]', 1],
    ['a leading zero', '[01]', 2],
    ['a number without digits', '[-]', 1],
    ['a bare word', '[nul]', 1],
    ['a missing colon', '{"a" 1}', 5],
    ['a key without quotes', '{a:1}', 1],
    ['a no-break space', '[\u00A01]', 1],
  ])('rejects %s as JSON.parse does', (_title, text, offset) => {
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
    expect(errorOf(text)).toEqual({ code: 'json_invalid', offset });
  });

  it('reports nothing of a text with an error', () => {
    const recorder = createValueRecorder();
    expect(() => {
      readJson(decodedString('["a","b",'), recorder);
    }).toThrow(/line 1, column 10/);
    expect(recorder.events).toEqual([]);
  });

  it('accepts as many levels as the limit, also in 1,000,000 open brackets', () => {
    const nested = (levels: number): string => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`;
    expect(errorOf(nested(64))).toBe(null);
    expect(errorOf(nested(66))).toEqual({ code: 'nesting_too_deep', offset: 192 });
    expect(errorOf('['.repeat(1_000_000))).toEqual({ code: 'nesting_too_deep', offset: 64 });
  });

  it('accepts 1,000,000 elements and not one more', () => {
    expect(read(`[${'1,'.repeat(999_999)}1]`).events.length).toBe(1_000_002);
    expect(errorOf(`[${'1,'.repeat(1_000_000)}1]`)).toEqual({
      code: 'container_limit_exceeded',
      offset: 2_000_001,
    });
    expect(errorOf('[[],[],[]]', { elements: 2 })).toEqual({ code: 'container_limit_exceeded', offset: 7 });
    expect(errorOf('{"a":1,"b":2}', { elements: 2 })).toBe(null);
    expect(errorOf('{"a":1,"b":2,"a":3}', { elements: 2 })).toEqual({
      code: 'container_limit_exceeded',
      offset: 13,
    });
  });

  it('skips a string that is too long or not Unicode, and keeps the index of the others', () => {
    const { events, errors } = read('{"a":["abcd","あい","\\ud800","\\ud83d\\ude00"]}', { stringBytes: 4 });
    expect(events.join(' ')).toBe('{ a: [ "abcd" ? ? "😀" ] }');
    expect(errors).toEqual([
      { code: 'field_too_large', path: '/a/1', offset: null },
      { code: 'encoding_invalid', path: '/a/2', offset: null },
    ]);
  });

  it('skips a member whose key is not Unicode', () => {
    const { events, errors } = read('{"\\ud800":{"a":"lost"},"b":"kept"}');
    expect(events.join(' ')).toBe('{ b: "kept" }');
    expect(errors).toEqual([{ code: 'encoding_invalid', path: '/\uFFFD', offset: 1 }]);
  });

  it('rejects the text when it is cut anywhere', () => {
    const bytes = Buffer.from(SAMPLE);
    for (let size = 0; size < bytes.length; size += 1) {
      const cut = bytes.subarray(0, size);
      const code = formatErrorOf(() => {
        readJson(decodeText(cut), createValueRecorder());
      })?.code;
      expect(['json_invalid', 'encoding_invalid']).toContain(code);
    }
  });

  it('reads the strings that JSON.parse reads of every damaged text, or rejects it too', () => {
    const codes = new Map<string, number>();
    const count = campaignSize(2_000, 40_000);
    for (const damaged of mutations(Buffer.from(SAMPLE), { seed: 14, count })) {
      const recorder = createValueRecorder();
      const code =
        formatErrorOf(() => {
          readJson(decodeText(damaged), recorder);
        })?.code ?? 'read';
      codes.set(code, (codes.get(code) ?? 0) + 1);
      if (code === 'encoding_invalid') continue;
      const expected = stringsOf(decodeText(damaged).text);
      expect(code).toBe(expected === null ? 'json_invalid' : 'read');
      if (recorder.errors.length > 0 || expected === null) continue;
      expect(recorder.texts.map(({ value }) => value).toSorted()).toEqual(expected.toSorted());
    }
    expect([...codes.keys()].toSorted()).toEqual(['encoding_invalid', 'json_invalid', 'read']);
    expect(codes.get('read')).toBeGreaterThan(count / 100);
  });
});

/** All strings of a JSON text except keys, or `null` when JSON.parse rejects it. */
function stringsOf(text: string): string[] | null {
  const found: string[] = [];
  try {
    JSON.parse(text, (_key, value: unknown) => {
      if (typeof value === 'string') found.push(value);
      return value;
    });
    return found;
  } catch {
    return null;
  }
}
