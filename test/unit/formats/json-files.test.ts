import { describe, expect, it } from 'vitest';
import { POINTER_SYNTAX } from '../../../src/formats/collect/path-syntax.ts';
import { FormatError } from '../../../src/formats/format-error.ts';
import { patchJson } from '../../../src/formats/json/patch-json.ts';
import { readJson } from '../../../src/formats/json/read-json.ts';
import { PatchError } from '../../../src/formats/patch/patch-error.ts';
import { decodedString, decodeText } from '../../../src/formats/text/decode-text.ts';
import { READ_LIMITS, type ReadLimits } from '../../../src/formats/value-visitor.ts';
import { campaignSize } from '../../support/long.ts';
import { mutations } from '../../support/mutate.ts';
import { editedTexts, patchErrorOf, randomEdits, textsByPath } from '../../support/random-edits.ts';
import { createValueRecorder, formatErrorOf, type ValueRecorder } from '../../support/value-recorder.ts';

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

  it('says in words what is wrong, and where', () => {
    expect(() => readJson(decodedString('{"a":\n "あ'), createValueRecorder())).toThrow(
      /^unexpected end of string in line 2, column 2 /,
    );
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

const textsOf = (bytes: Uint8Array, encoding?: 'cp932'): ReadonlyMap<string, string> =>
  textsByPath(POINTER_SYNTAX, (visitor) => {
    readJson(decodeText(bytes, encoding), { visitor, limits: READ_LIMITS, reportPartError: () => undefined });
  });

const edit = (fieldPath: string, source: string, target: string) => ({ fieldPath, source, target });

const DOCUMENT = `\uFEFF{\r\n  "rows" : [ { "Id": 1.50, "a/b~#": "い\\n", "empty":"" },\t["\\u3042", null, true, "x"] ],
  "x": 1e400, "escaped\\u0022key": "\\"q\\"", "nested": "{\\"text\\":\\"う\\"}" }\n\n`;

describe('patchJson', () => {
  it('changes the literals of the edited strings and no other byte', () => {
    const patched = patchJson(Buffer.from(DOCUMENT), [
      edit('/rows/0/a~1b~0~2', 'い\n', 'one "two"\\\r\n😀'),
      edit('/rows/0/empty', '', 'が'),
      edit('/rows/1/0', 'あ', ''),
      edit('/escaped"key', '"q"', '/<\u2028\u007F'),
    ]);
    const expected = DOCUMENT.replace('"い\\n"', String.raw`"one \"two\"\\\r\n😀"`)
      .replace('"empty":""', '"empty":"が"')
      .replace('"\\u3042"', '""')
      .replace('"\\"q\\""', '"/<\u2028\u007F"');
    expect(patched.toString()).toBe(expected);
  });

  it.for([
    ['["é"]', '"Ø/<\\u0001"', 'a plain document stays plain'],
    ['["\\u00e9"]', '"\\u00d8/<\\u0001"', 'everything beyond ASCII is escaped where it was'],
    ['["\\u00E9"]', '"\\u00D8/<\\u0001"', 'digits keep their case'],
    ['["\\u00e9", "あ"]', '"Ø/<\\u0001"', 'a few escapes do not make a style'],
    [
      '["\\u00e9", "\\/ \\u003C"]',
      '"\\u00d8\\/\\u003C\\u0001"',
      'PHP escapes the slash, and Go escapes tags',
    ],
    ['["\\u00e9", "\\/ /"]', '"\\u00d8/<\\u0001"', 'a plain slash shows that slashes are not always escaped'],
  ])('keeps the escapes of %s', ([document = '', literal]) => {
    const patched = patchJson(document, [edit('/0', 'é', 'Ø/<\u0001')]);
    expect(patched).toBe(document.replace(/"[^"]*"/, () => literal ?? ''));
  });

  it.for(['utf-8', 'utf-16le', 'utf-16be', 'cp932'] as const)(
    'keeps %s and its byte order mark',
    (encoding) => {
      const cp932 = Buffer.from([...Buffer.from('["'), 0x82, 0xa0, 0xee, 0xf9, ...Buffer.from('","b"]')]);
      const [body, expected] = ['["あ","b"]', '["あ","髙①ｱ"]'].map((text) => {
        if (encoding === 'utf-8') return Buffer.from(`\uFEFF${text}`);
        const bytes = Buffer.from(`\uFEFF${text}`, 'utf16le');
        return encoding === 'utf-16le' ? bytes : bytes.swap16();
      });
      const [file, named] = encoding === 'cp932' ? [cp932, 'cp932' as const] : [body ?? cp932, undefined];
      const patched = patchJson(file, [edit('/1', 'b', '髙①ｱ')], { encoding: named });
      // The first string has a character with three codes; its bytes stay.
      const inCp932 = [...cp932.subarray(0, 9), 0xfb, 0xfc, 0x87, 0x40, 0xb1, ...Buffer.from('"]')];
      expect(patched).toEqual(encoding === 'cp932' ? Buffer.from(inCp932) : expected);
    },
  );

  it('patches JSON in a string, which keeps the style of each level', () => {
    const patched = patchJson(Buffer.from(DOCUMENT), [
      {
        fieldPath: '/nested',
        patch: (value) => patchJson(String(value), [edit('/text', 'う', '"1"\n')]),
      },
    ]);
    const [nested] = textsOf(patched).get('/nested')?.match(/.*/s) ?? [];
    expect(JSON.parse(nested ?? '')).toEqual({ text: '"1"\n' });
    expect(patched.toString()).toContain(String.raw`"{\"text\":\"\\\"1\\\"\\n\"}"`);
  });

  it('reads back exactly with this reader and with JSON.parse, whatever is edited', () => {
    const documents = [
      DOCUMENT,
      JSON.stringify({ rows: Array.from({ length: 30 }, (_, id) => ({ id, t: `行${id}` })) }),
    ];
    for (let seed = 1; seed <= 200; seed += 1) {
      const file = Buffer.from(documents[seed % documents.length] ?? '');
      const texts = textsOf(file);
      const edits = randomEdits(texts, seed);
      const patched = patchJson(file, edits);
      expect(textsOf(patched)).toEqual(editedTexts(texts, edits));
      expect(() => JSON.parse(patched.toString().replace(/^\uFEFF/, ''))).not.toThrow();
      const back = edits.map(({ fieldPath, source, target }) => edit(fieldPath, target, source));
      expect(textsOf(patchJson(patched, back))).toEqual(texts);
      expect(patchJson(file, edits).equals(patched)).toBe(true);
    }
  });

  it('refuses what it cannot write', () => {
    const cp932 = Buffer.from('["a"]');
    expect(patchErrorOf(() => patchJson(cp932, [edit('/0', 'a', '€')], { encoding: 'cp932' }))).toEqual({
      code: 'unencodable_character',
      fieldPath: '/0',
    });
    const limits = { ...READ_LIMITS, stringBytes: 8 };
    expect(patchErrorOf(() => patchJson('["a"]', [edit('/0', 'a', 'あいう')], { limits }))?.code).toBe(
      'text_too_long',
    );
    expect(patchJson('["a"]', [edit('/0', 'a', 'あい12')], { limits })).toBe('["あい12"]');
    // Of members with one key the last one counts; the others are not reported.
    expect(patchErrorOf(() => patchJson('{"a":"1","a":"2"}', [edit('/a', '1', 'x')]))?.code).toBe(
      'source_differs',
    );
    expect(patchJson('{"a":"1","a":"1"}', [edit('/a', '1', 'x')])).toBe('{"a":"1","a":"x"}');
  });

  it('refuses damaged files, or changes only the edited string', () => {
    const file = Buffer.from(DOCUMENT);
    let patchedFiles = 0;
    for (const damaged of mutations(file, { seed: 1, count: 500 })) {
      try {
        const before = textsOf(damaged);
        const edits = [edit('/rows/1/3', 'x', '"新"')];
        expect(textsOf(patchJson(damaged, edits))).toEqual(editedTexts(before, edits));
        patchedFiles += 1;
      } catch (error) {
        if (!(error instanceof FormatError || error instanceof PatchError)) throw error;
      }
    }
    expect(patchedFiles).toBeGreaterThan(5);
  });
});
