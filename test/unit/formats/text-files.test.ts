import { execFileSync } from 'node:child_process';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StringCodecError, createStringCodec } from '../../../src/formats/codecs/string-codec.ts';
import { DOTTED_SYNTAX } from '../../../src/formats/collect/path-syntax.ts';
import { FormatError } from '../../../src/formats/format-error.ts';
import {
  byteOffsets,
  decodedString,
  decodeText,
  type NamedEncoding,
} from '../../../src/formats/text/decode-text.ts';
import { TABLE_ENCODINGS, tableEncoding } from '../../../src/formats/text/table-encoding.ts';
import { patchLines } from '../../../src/formats/text/patch-text.ts';
import { readLines } from '../../../src/formats/text/report-text.ts';
import { READ_LIMITS } from '../../../src/formats/value-visitor.ts';
import { campaignSize } from '../../support/long.ts';
import { mutations } from '../../support/mutate.ts';
import { editedTexts, patchErrorOf, randomEdits, textsByPath } from '../../support/random-edits.ts';
import { hasTool } from '../../support/tools.ts';
import { createValueRecorder, formatErrorOf } from '../../support/value-recorder.ts';

const hasPython = hasTool('python3');

function encode(text: string, encoding: 'utf-8' | 'utf-16le' | 'utf-16be'): Buffer {
  if (encoding === 'utf-8') return Buffer.from(text);
  const bytes = Buffer.from(text, 'utf16le');
  return encoding === 'utf-16le' ? bytes : bytes.swap16();
}

describe('the lines of a text file', () => {
  describe('decodeText', () => {
    it.each(['utf-8', 'utf-16le', 'utf-16be'] as const)('reads %s by its byte order mark', (encoding) => {
      const text = 'あ\r\nb😀';
      expect(decodeText(encode(`\uFEFF${text}`, encoding))).toEqual({
        text,
        encoding,
        byteOrderMark: true,
        lineEnd: 'crlf',
      });
    });

    it('reads an encoding by rule', () => {
      const marked = encode('\uFEFF漢', 'utf-16be');
      expect(decodeText(marked, 'utf-16')).toMatchObject({ text: '漢', encoding: 'utf-16be' });
      expect(decodeText(Buffer.of(0x8a, 0xbf, 0x0a), 'cp932')).toEqual({
        text: '漢\n',
        encoding: 'cp932',
        byteOrderMark: false,
        lineEnd: 'lf',
      });
      expect(decodeText(Buffer.from('漢'))).toMatchObject({ encoding: 'utf-8', byteOrderMark: false });
    });

    it.each([
      ['', 'none'],
      ['a', 'none'],
      ['a\nb\n', 'lf'],
      ['a\r\nb', 'crlf'],
      ['a\rb\r', 'cr'],
      ['a\r\nb\n', 'mixed'],
      ['a\n\rb', 'mixed'],
    ])('knows the line ends of %j', (text, lineEnd) => {
      expect(decodeText(Buffer.from(text)).lineEnd).toBe(lineEnd);
      expect(decodedString(`\uFEFF${text}`)).toMatchObject({ text, byteOrderMark: true, lineEnd });
    });

    it.each<[string, NamedEncoding | undefined, Buffer, number]>([
      ['a stray byte', undefined, Buffer.of(0x61, 0xff, 0x62), 1],
      ['a cut character', undefined, Buffer.from('aあ').subarray(0, 3), 1],
      ['a character that is too long', undefined, Buffer.of(0x61, 0x62, 0xc0, 0x80), 2],
      ['a surrogate in UTF-8', undefined, Buffer.of(0x61, 0xed, 0xa0, 0x80), 1],
      ['bytes behind a mark', undefined, Buffer.of(0xef, 0xbb, 0xbf, 0x61, 0x80), 4],
      ['an odd byte', 'utf-16', Buffer.of(0xff, 0xfe, 0x61, 0, 0x62), 4],
      ['half a surrogate pair', undefined, Buffer.of(0xff, 0xfe, 0x61, 0, 0x3d, 0xd8, 0x61, 0), 4],
      ['UTF-16 without a byte order mark', 'utf-16', Buffer.of(0x61, 0), 0],
      ['a second byte out of range', 'cp932', Buffer.of(0x61, 0x8a, 0x20), 1],
      ['a byte without meaning', 'cp932', Buffer.of(0x61, 0xff), 1],
      ['UTF-16 where a rule says UTF-8', 'utf-8', encode('\uFEFFa', 'utf-16le'), 0],
    ])('names the first bad byte of %s', (_title, encoding, bytes, offset) => {
      expect(formatErrorOf(() => decodeText(bytes, encoding))).toEqual({ code: 'encoding_invalid', offset });
    });

    it.each([0, 1, 2, 3, 4, 5, 65_530, 65_534, 65_535, 65_536, 65_537, 131_071, 200_000])(
      'names a bad byte behind %d good ones',
      (size) => {
        const good = Buffer.from(`${'x'.repeat(size % 3)}${'漢'.repeat(Math.floor(size / 3))}`);
        const bytes = Buffer.concat([good, Buffer.of(0xe6, 0xbc), good]);
        expect(formatErrorOf(() => decodeText(bytes))).toEqual({ code: 'encoding_invalid', offset: size });
      },
    );

    it.skipIf(!hasPython)('reads every character of CP932 as Python does', () => {
      const script = `
import json
singles = [bytes([a]) for a in range(256) if not (0x81 <= a <= 0x9f or a == 0x80 or a == 0xa0 or a >= 0xe0)]
doubles = [bytes([a, b]) for a in [*range(0x81, 0xa0), *range(0xe0, 0xfd)] for b in range(0x40, 0xfd) if b != 0x7f]
found = []
for each in singles + doubles:
    try: found.append([each.hex(), each.decode('cp932')])
    except UnicodeDecodeError: pass
print(json.dumps(found))`;
      const found = JSON.parse(
        execFileSync('python3', ['-c', script], { maxBuffer: 2 ** 26 }).toString(),
      ) as [string, string][];
      expect(found.length).toBeGreaterThan(9_000);
      const hex = found.map(([bytes]) => bytes).join('');
      const decoded = decodeText(Buffer.from(hex, 'hex'), 'cp932');
      expect(decoded.text).toBe(found.map(([, text]) => text).join(''));
      // The extensions of NEC and IBM are among them.
      expect(decoded.text).toContain('①');
      expect(decoded.text).toContain('髙');
      const offsetOf = byteOffsets(decoded);
      let [position, offset] = [0, 0];
      for (const [bytes, text] of found) {
        if (offsetOf(position) !== offset) expect([text, offsetOf(position)]).toEqual([text, offset]);
        position += text.length;
        offset += bytes.length / 2;
      }
      expect(offsetOf(position)).toBe(offset);
    });
  });

  describe('byteOffsets', () => {
    it.each(['utf-8', 'utf-16le', 'utf-16be'] as const)('counts bytes of %s, with the mark', (encoding) => {
      const text = 'aあ😀ｱ\r\nz';
      const decoded = decodeText(encode(`\uFEFF${text}`, encoding));
      const offsetOf = byteOffsets(decoded);
      for (const position of [0, 1, 2, 4, 5, 7, 8, 2, 0]) {
        expect(offsetOf(position)).toBe(encode(`\uFEFF${text.slice(0, position)}`, encoding).length);
      }
    });
  });

  describe('readLines', () => {
    it('reports one text for each line, empty ones included', () => {
      const recorder = createValueRecorder();
      const text = 'one\r\n\ntwo\rthree\n';
      readLines(decodedString(text), recorder);
      expect(recorder.events.join(' ')).toBe('line: [ "one" "" "two" "three" ]');
      expect(recorder.texts.map(({ start, end }) => text.slice(start, end))).toEqual([
        'one',
        '',
        'two',
        'three',
      ]);
      expect(recorder.texts.map(({ start }) => start)).toEqual([0, 5, 6, 10]);
    });

    it('reads a last line without an end, and an empty file', () => {
      const recorder = createValueRecorder();
      readLines(decodedString('a\nb'), recorder);
      readLines(decodedString(''), recorder);
      expect(recorder.events.join(' ')).toBe('line: [ "a" "b" ] line: [ ]');
    });

    it('skips a line that is too long, and keeps the index of the others', () => {
      const recorder = createValueRecorder({ stringBytes: 6 });
      readLines(decodedString('ああ\nあああ\nabcdef\nabcdefg\n'), recorder);
      expect(recorder.events.join(' ')).toBe('line: [ "ああ" ? "abcdef" ? ]');
      expect(recorder.errors).toEqual([
        { code: 'field_too_large', path: 'line[1]', offset: null },
        { code: 'field_too_large', path: 'line[3]', offset: null },
      ]);
    });

    it('accepts as many lines as the limit', () => {
      const limits = { elements: 2 };
      expect(formatErrorOf(() => readLines(decodedString('あ\nb\n'), createValueRecorder(limits)))).toBe(
        null,
      );
      expect(formatErrorOf(() => readLines(decodedString('あ\nb\nc'), createValueRecorder(limits)))).toEqual({
        code: 'container_limit_exceeded',
        offset: 6,
      });
    });

    it('reads or rejects every damaged text', () => {
      const bytes = encode('\uFEFF一行目\r\n二行目😀\r\n', 'utf-16le');
      const codes = new Set<string>();
      for (const damaged of mutations(bytes, { seed: 1, count: campaignSize(500, 10_000) })) {
        codes.add(formatErrorOf(() => readLines(decodeText(damaged), createValueRecorder()))?.code ?? 'read');
      }
      expect([...codes].toSorted()).toEqual(['encoding_invalid', 'read']);
    });
  });
});

const CP932 = tableEncoding('cp932');

const bytesOf = (character: string): number | null => CP932.bytesOf(character.codePointAt(0) ?? 0);

describe('CP932', () => {
  it('has the bytes of every character that decodes from it, and of no other', () => {
    const known = new Map<number, number>();
    const add = (...bytes: number[]): void => {
      try {
        const [character = '', ...rest] = decodeText(Uint8Array.from(bytes), 'cp932').text;
        if (rest.length === 0) known.set(character.codePointAt(0) ?? 0, bytes.length);
      } catch {
        // Not a character of the encoding.
      }
    };
    for (let first = 0; first < 0x100; first += 1) add(first);
    for (let first = 0x81; first <= 0xfc; first += 1) {
      for (let second = 0x40; second <= 0xfc; second += 1) add(first, second);
    }
    const differing: number[] = [];
    for (let codePoint = 0; codePoint <= 0x1_ffff; codePoint += 1) {
      if (CP932.bytesOf(codePoint) !== (known.get(codePoint) ?? null)) differing.push(codePoint);
    }
    expect(known.size).toBeGreaterThan(9000);
    expect(differing).toEqual([]);
  });

  it.each([
    ['a', 1],
    ['ｱ', 1],
    ['あ', 2],
    ['①', 2],
    ['髙', 2],
    ['们', null],
    ['€', null],
    ['😀', null],
  ] as const)('%s has %s bytes', (character, bytes) => {
    expect(bytesOf(character)).toBe(bytes);
  });
});

describe('encodings with tables', () => {
  it.each(TABLE_ENCODINGS)('%s reads back every character that it writes', (name) => {
    const table = tableEncoding(name);
    let [text, size] = ['', 0];
    for (let codePoint = 0; codePoint < 0x1_1000; codePoint += 1) {
      const bytes = table.bytesOf(codePoint);
      if (bytes === null) continue;
      text += String.fromCodePoint(codePoint);
      size += bytes;
    }
    expect(text.length).toBeGreaterThan(200);
    const unknown: string[] = [];
    const encoded = table.encode(text, (character) => unknown.push(character));
    expect([unknown, encoded.length, table.lengthOf(text)]).toEqual([[], size, size]);
    expect(decodeText(encoded, name).text === text).toBe(true);
  });
});

const textsOf = (bytes: Uint8Array): ReadonlyMap<string, string> =>
  textsByPath(DOTTED_SYNTAX, (visitor) => {
    readLines(decodeText(bytes), { visitor, limits: READ_LIMITS, reportPartError: () => undefined });
  });

const edit = (line: number, source: string, target: string) => ({
  fieldPath: `line[${line}]`,
  source,
  target,
});

describe('patchLines', () => {
  it('changes the edited lines, and keeps line ends and the end of the file', () => {
    const file = '\uFEFF一\r\n\n二\r三\n\n四';
    const edits = [edit(0, '一', ''), edit(1, '', 'one'), edit(5, '四', 'four 🎉')];
    expect(patchLines(Buffer.from(file), edits).toString()).toBe('\uFEFF\r\none\n二\r三\n\nfour 🎉');
    expect(patchLines('a\n', [edit(0, 'a', '')])).toBe('\n');
  });

  it.for([
    ['a\nb', edit(1, 'b', 'one\ntwo')],
    ['a\nb', edit(1, 'b', 'one\r')],
    ['a\nb', edit(1, 'b', '')],
    ['a\nb', edit(0, 'a', '\uFEFFc')],
    ['a\nb', edit(0, 'a', '\0')],
  ] as const)('refuses for %j the edit %j', ([file, refused]) => {
    expect(patchErrorOf(() => patchLines(Buffer.from(file), [refused]))).toEqual({
      code: 'character_not_allowed',
      fieldPath: refused.fieldPath,
    });
  });

  it.for(['utf8', 'utf16le'] as const)('reads back exactly, whatever is edited: %s', (encoding) => {
    const lines = Array.from({ length: 30 }, (_, line) => (line % 4 === 0 ? '' : `${line}行目`));
    const file = Buffer.from(`${encoding === 'utf8' ? '' : '\uFEFF'}${lines.join('\r\n')}\n`, encoding);
    const texts = textsOf(file);
    for (let seed = 1; seed <= 100; seed += 1) {
      const edits = randomEdits(texts, seed, (target) => !/[\r\n\uFEFF]/.test(target));
      const patched = patchLines(file, edits);
      expect(textsOf(patched)).toEqual(editedTexts(texts, edits));
      const back = edits.map(({ fieldPath, source, target }) => ({
        fieldPath,
        source: target,
        target: source,
      }));
      expect(patchLines(patched, back).equals(file)).toBe(true);
    }
  });
});

const SECRETS = new Map([
  ['table-key', Buffer.from('0102fe', 'hex')],
  ['empty', Buffer.alloc(0)],
]);

function codeOf(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error instanceof FormatError ? error.code : error;
  }
  return 'no error';
}

function specificationError(specification: string): { message: string; position: number } {
  try {
    createStringCodec(specification, SECRETS);
  } catch (error) {
    if (error instanceof StringCodecError) return { message: error.message, position: error.position };
    throw error;
  }
  throw new Error('no error');
}

describe('the string codec', () => {
  it.each([
    ['utf8', 'e38182'],
    ['utf16le', '4230'],
    // "あ" in UTF-8 in base64 is "44GC".
    ['base64', '34344743'],
    ['base64+utf8', '34344743'],
    ['xor:table-key', 'e2837c'],
    ['xor:table-key+utf16le', '4332'],
    // 43 32 in base64 is "QzI=".
    ['base64+xor:table-key+utf16le', '517a493d'],
  ])('%s reads the steps from the bytes to the text', (specification, hex) => {
    const codec = createStringCodec(specification, SECRETS);
    expect(codec.decode(Buffer.from(hex, 'hex'))).toBe('あ');
    expect(codec.encode('あ').toString('hex')).toBe(hex);
  });

  it.each(['utf8', 'utf16le', 'base64', 'base64+xor:table-key+utf16le', 'xor:table-key+base64'])(
    '%s gives every text back',
    (specification) => {
      const codec = createStringCodec(specification, SECRETS);
      const texts = fc
        .array(fc.integer({ min: 0, max: 0x10_ff_ff }))
        .map((points) => String.fromCodePoint(...points).toWellFormed());
      fc.assert(
        fc.property(texts, (text) => codec.decode(codec.encode(text)) === text),
        { seed: 14, numRuns: 300 },
      );
    },
  );

  it('keeps a byte order mark, which write-back needs', () => {
    const codec = createStringCodec('utf8', SECRETS);
    expect(codec.decode(Buffer.from('efbbbf41', 'hex'))).toBe('\uFEFFA');
  });

  it.each([
    ['utf8', 'ff'],
    ['utf8', 'eda080'],
    ['utf16le', '41'],
    ['utf16le', '00d8'],
  ])('%s: bytes outside of the character set are encoding_invalid (%s)', (specification, hex) => {
    const codec = createStringCodec(specification, SECRETS);
    expect(codeOf(() => codec.decode(Buffer.from(hex, 'hex')))).toBe('encoding_invalid');
  });

  it.each([
    ['base64 without padding', 'base64', Buffer.from('YQ')],
    ['base64 with a line break', 'base64', Buffer.from('YWJj\n')],
    ['base64 with unused bits', 'base64', Buffer.from('YR==')],
    ['a wrong key', 'xor:table-key', Buffer.from('あ')],
    ['base64 of no text', 'base64', Buffer.from('/w==')],
  ])('%s is codec_mismatch', (_, specification, bytes) => {
    const codec = createStringCodec(specification, SECRETS);
    expect(codeOf(() => codec.decode(bytes))).toBe('codec_mismatch');
  });

  it('names the position of a wrong step and the known names', () => {
    expect(specificationError('base64+rot13+utf8')).toEqual({
      message:
        '"rot13" is not a step of a string codec; known: base64, utf16le, utf8, xor:<secret name> (at character 7)',
      position: 7,
    });
    expect(specificationError('base64+xor:other')).toEqual({
      message: 'the secret "other" is not configured; known: empty, table-key (at character 7)',
      position: 7,
    });
    expect(specificationError('xor:empty')).toMatchObject({ position: 0 });
    expect(specificationError('utf8+base64')).toEqual({
      message: 'no step can follow the character set, but "base64" does (at character 5)',
      position: 5,
    });
    for (const specification of ['', '+', 'base64+', 'constructor', 'UTF8']) {
      expect(specificationError(specification).message).toContain('is not a step of a string codec');
    }
  });

  it('never shows the bytes of a secret', () => {
    const secrets = new Map([['key', Buffer.from('hush-hush')]]);
    const messages = ['xor:none', 'xor:key+nothing'].map((specification) => {
      try {
        return createStringCodec(specification, secrets);
      } catch (error) {
        return String(error);
      }
    });
    expect(JSON.stringify(messages)).not.toContain('hush');
    expect(JSON.stringify(createStringCodec('xor:key', secrets))).not.toContain('hush');
  });
});
