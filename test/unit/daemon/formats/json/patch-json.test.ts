import { describe, expect, it } from 'vitest';
import { POINTER_SYNTAX } from '../../../../../src/daemon/formats/collect/path-syntax.ts';
import { FormatError } from '../../../../../src/daemon/formats/format-error.ts';
import { patchJson } from '../../../../../src/daemon/formats/json/patch-json.ts';
import { readJson } from '../../../../../src/daemon/formats/json/read-json.ts';
import { PatchError } from '../../../../../src/daemon/formats/patch/patch-error.ts';
import { decodeText } from '../../../../../src/daemon/formats/text/decode-text.ts';
import { READ_LIMITS } from '../../../../../src/daemon/formats/value-visitor.ts';
import { mutations } from '../../../../support/mutate.ts';
import { editedTexts, patchErrorOf, randomEdits, textsByPath } from '../../../../support/random-edits.ts';

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
