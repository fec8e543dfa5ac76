import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import {
  byteOffsets,
  decodedString,
  decodeText,
  type NamedEncoding,
} from '../../../../../src/daemon/formats/text/decode-text.ts';
import { readLines } from '../../../../../src/daemon/formats/text/read-lines.ts';
import { campaignSize } from '../../../../support/long.ts';
import { mutations } from '../../../../support/mutate.ts';
import { hasTool } from '../../../../support/tools.ts';
import { createValueRecorder, formatErrorOf } from '../../../../support/value-recorder.ts';

const hasPython = hasTool('python3');

function encode(text: string, encoding: 'utf-8' | 'utf-16le' | 'utf-16be'): Buffer {
  if (encoding === 'utf-8') return Buffer.from(text);
  const bytes = Buffer.from(text, 'utf16le');
  return encoding === 'utf-16le' ? bytes : bytes.swap16();
}

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
    const found = JSON.parse(execFileSync('python3', ['-c', script], { maxBuffer: 2 ** 26 }).toString()) as [
      string,
      string,
    ][];
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
    expect(formatErrorOf(() => readLines(decodedString('あ\nb\n'), createValueRecorder(limits)))).toBe(null);
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
