import { describe, expect, it } from 'vitest';
import { createStringCodec } from '../../../../../src/daemon/formats/codecs/string-codec.ts';
import { readBinarySchema } from '../../../../../src/daemon/formats/flatbuffers/binary-schema.ts';
import {
  visitFlatBuffer,
  type FlatBufferOptions,
} from '../../../../../src/daemon/formats/flatbuffers/visit-flatbuffer.ts';
import { FormatError } from '../../../../../src/daemon/formats/format-error.ts';
import { READ_LIMITS } from '../../../../../src/daemon/formats/value-visitor.ts';
import {
  childChain,
  SAMPLE_SCHEMA,
  sampleBuffer,
  sharedTexts,
} from '../../../../support/flatbuffer-sample.ts';
import { campaignSize } from '../../../../support/long.ts';
import { mutations } from '../../../../support/mutate.ts';
import { recordValues, valuesOf, type ValueEvent } from '../../../../support/record-values.ts';

const SCHEMA = readBinarySchema(SAMPLE_SCHEMA);

interface Visit {
  readonly events: readonly ValueEvent[];
  readonly values: unknown;
  /** Code, offset and path of each error that cost one string. */
  readonly parts: readonly unknown[];
  /** For each text: the position of the offset that leads to it. */
  readonly references: readonly number[];
}

function visit(bytes: Uint8Array, options: Partial<FlatBufferOptions> = {}): Visit {
  const { visitor, events } = recordValues();
  const parts: unknown[] = [];
  const references: number[] = [];
  visitFlatBuffer(bytes, SCHEMA, visitor, {
    limits: READ_LIMITS,
    reportPartError: (error, path) => {
      parts.push([
        error instanceof FormatError && error.code,
        error instanceof FormatError && error.offset,
        path,
      ]);
    },
    onReference: ({ position }) => references.push(position),
    ...options,
  });
  return { events, values: valuesOf(events), parts, references };
}

/** The code of the error, `partial` when parts are missing, else `read`. */
function outcome(bytes: Uint8Array, options: Partial<FlatBufferOptions> = {}): string {
  try {
    return visit(bytes, options).parts.length > 0 ? 'partial' : 'read';
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return error.code;
  }
}

function positionOf(bytes: Buffer, text: string): number {
  const position = bytes.indexOf(text);
  if (position < 0) throw new Error(`the sample holds no ${text}`);
  return position;
}

/** Where the root table begins, and where its field of a number is. */
function rootField(bytes: Buffer, number: number): number {
  const root = bytes.readUInt32LE(0);
  return root + bytes.readUInt16LE(root - bytes.readInt32LE(root) + 4 + 2 * number);
}

describe('the FlatBuffers reader', () => {
  it('visits every kind of field in the order of declaration', () => {
    const { values, parts } = visit(sampleBuffer());
    expect(parts).toEqual([]);
    expect(values).toEqual({
      i8: -2,
      u8: 200,
      i16: -300,
      u16: 60_000,
      i32: -70_000,
      u32: 4_000_000_000,
      i64: 2n ** 53n + 1n,
      u64: 2n ** 64n - 1n,
      text: '先生、おはよう。',
      box: { corner: { x: 5, y: 6 }, marks: [11, 12] },
      child: { name: 'アロナ' },
      children: [{ name: 'プラナ' }, { name: 'ホシノ' }],
      texts: ['共有', '先生、おはよう。', '共有'],
      points: [
        { x: 1, y: 2 },
        { x: 3, y: 4 },
      ],
      numbers: [-1, 2n ** 62n],
      blob: Buffer.from('秘密'),
      any: '結末',
      // No member, and a member that the schema does not know.
      many: ['先生、おはよう。', null, { name: 'ホシノ' }, null],
      // An absent integer has its default value; an optional one has none.
      level: 7,
    });
    const order = Object.keys(values as object);
    expect(order.slice(0, 3)).toEqual(['i8', 'u8', 'i16']);
    expect(order.at(-1)).toBe('level');
  });

  it('gives the positions of the length prefix and behind the last byte of a text', () => {
    const bytes = sampleBuffer();
    const texts = visit(bytes).events.filter(([name]) => name === 'text');
    expect(texts).toHaveLength(10);
    for (const [, value, start, end] of texts as [string, string, number, number][]) {
      expect(bytes.readUInt32LE(start)).toBe(Buffer.byteLength(value));
      expect(bytes.toString('utf8', start + 4, end)).toBe(value);
      expect(bytes[end]).toBe(0);
    }
  });

  it('gives the position of the offset to each text, so that one of two references can be changed', () => {
    const bytes = sampleBuffer();
    const { events, references } = visit(bytes);
    const texts = events.filter(([name]) => name === 'text' || name === 'bytes');
    expect(references).toHaveLength(texts.length);
    const third = texts.map(([, value]) => value).lastIndexOf('共有');
    const position = references[third] ?? 0;
    const padded = Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);
    padded.writeUInt32LE(padded.length - position, position);
    const added = Buffer.from('書き換え');
    const prefix = Buffer.alloc(4);
    prefix.writeUInt32LE(added.length);
    const patched = visit(Buffer.concat([padded, prefix, added, Buffer.alloc(1)]));
    expect((patched.values as { texts: unknown }).texts).toEqual(['共有', '先生、おはよう。', '書き換え']);
  });

  it('reads strings and vectors of bytes by the codec of their field', () => {
    const codec = createStringCodec('xor:key', new Map([['key', Buffer.of(0x20)]]));
    const stored = codec.encode('ひみつのことば');
    const bytes = sharedTexts('0'.repeat(stored.length), 1);
    stored.copy(bytes, positionOf(bytes, '0000'));
    const fields: unknown[] = [];
    const { values } = visit(bytes, {
      codecOf: (field) => {
        fields.push(field);
        return codec;
      },
    });
    expect(values).toMatchObject({ text: 'ひみつのことば', texts: ['ひみつのことば'] });
    expect(fields).toContainEqual({ table: 'Root', name: 'text', stored: 'string' });
    const utf8 = createStringCodec('utf8', new Map());
    const blob = visit(sampleBuffer(), {
      codecOf: ({ name, stored }) => (name === 'blob' && stored === 'bytes' ? utf8 : null),
    });
    expect(blob.values).toMatchObject({ blob: '秘密' });
    expect(blob.references).toHaveLength(11);
  });

  it('reports a string outside of UTF-8 and continues behind it', () => {
    const bytes = sampleBuffer();
    const position = positionOf(bytes, 'プラナ');
    bytes[position] = 0xff;
    const { values, parts } = visit(bytes);
    expect(parts).toEqual([['encoding_invalid', position, 'children[0].name']]);
    expect((values as { children: unknown }).children).toEqual([{ name: null }, { name: 'ホシノ' }]);
  });

  it('reports a string that does not fit its codec', () => {
    const base64 = createStringCodec('base64', new Map());
    const { parts } = visit(sampleBuffer(), { codecOf: ({ name }) => (name === 'any' ? base64 : null) });
    expect(parts).toEqual([['codec_mismatch', expect.any(Number), 'any']]);
  });

  it('reports a string that is too long', () => {
    const limits = { ...READ_LIMITS, stringBytes: Buffer.byteLength('先生、おはよう。') - 1 };
    const { parts } = visit(sampleBuffer(), { limits });
    expect(parts).toEqual([
      ['field_too_large', expect.any(Number), 'text'],
      ['field_too_large', expect.any(Number), 'texts[1]'],
      ['field_too_large', expect.any(Number), 'many[0]'],
    ]);
  });

  it('ends at nesting deeper than the limit', () => {
    expect(outcome(childChain(63, 1))).toBe('read');
    expect(outcome(childChain(64, 1))).toBe('nesting_too_deep');
    expect(outcome(childChain(100_000, 1))).toBe('nesting_too_deep');
  });

  it('ends when shared tables would be visited without end', () => {
    expect(outcome(childChain(8, 2))).toBe('read');
    expect(outcome(childChain(60, 2))).toBe('container_limit_exceeded');
  });

  it('ends when shared strings are much larger than the file', () => {
    expect(outcome(sharedTexts('short', 10_000))).toBe('read');
    expect(outcome(sharedTexts('long'.repeat(2500), 10_000))).toBe('container_limit_exceeded');
  });

  it('ends at a vector with more elements than the limit', () => {
    const limits = { ...READ_LIMITS, elements: 1000 };
    expect(outcome(sharedTexts('', 1000), { limits })).toBe('read');
    expect(outcome(sharedTexts('', 1001), { limits })).toBe('container_limit_exceeded');
  });

  it.each([
    ['an empty file', () => Buffer.alloc(0)],
    ['another identifier', (bytes: Buffer) => bytes.fill('X', 4, 8)],
    ['a root outside of the file', (bytes: Buffer) => void bytes.writeUInt32LE(bytes.length, 0)],
    ['a root at itself', (bytes: Buffer) => void bytes.writeUInt32LE(0, 0)],
    [
      'a vtable before the file',
      (bytes: Buffer) => void bytes.writeInt32LE(0x7f_ff_ff_ff, bytes.readUInt32LE(0)),
    ],
    [
      'a vtable behind the file',
      (bytes: Buffer) => void bytes.writeInt32LE(-bytes.length, bytes.readUInt32LE(0)),
    ],
    [
      'a vtable of an odd size',
      (bytes: Buffer) => {
        const root = bytes.readUInt32LE(0);
        bytes.writeUInt16LE(61, root - bytes.readInt32LE(root));
      },
    ],
    [
      'a string outside of the file',
      (bytes: Buffer) => void bytes.writeUInt32LE(1 << 30, rootField(bytes, 11)),
    ],
    ['a string that refers to itself', (bytes: Buffer) => void bytes.writeUInt32LE(0, rootField(bytes, 11))],
    [
      'a string with a length beyond the file',
      (bytes: Buffer) => void bytes.writeUInt32LE(0xff_ff_ff_ff, positionOf(bytes, '結末') - 4),
    ],
    [
      'a string without its zero byte',
      (bytes: Buffer) => void bytes.writeUInt8(1, positionOf(bytes, '結末') + Buffer.byteLength('結末')),
    ],
    [
      'a vector with a length beyond the file',
      (bytes: Buffer) => {
        const field = rootField(bytes, 17);
        bytes.writeUInt32LE(500_000, field + bytes.readUInt32LE(field));
      },
    ],
    [
      'unions and types of different lengths',
      (bytes: Buffer) => {
        const field = rootField(bytes, 22);
        bytes.writeUInt32LE(3, field + bytes.readUInt32LE(field));
      },
    ],
    [
      'a required field that is absent',
      (bytes: Buffer) => {
        const root = bytes.readUInt32LE(0);
        bytes.writeUInt16LE(0, root - bytes.readInt32LE(root) + 4 + 2 * 11);
      },
    ],
    [
      'unions without types',
      (bytes: Buffer) => {
        const root = bytes.readUInt32LE(0);
        bytes.writeUInt16LE(0, root - bytes.readInt32LE(root) + 4 + 2 * 22);
      },
    ],
  ] as [string, (bytes: Buffer) => Buffer | undefined][])('finds %s', (_, damage) => {
    const bytes = sampleBuffer();
    expect(outcome(damage(bytes) ?? bytes)).toBe('flatbuffers_invalid');
  });

  it('names the byte at which a buffer is wrong', () => {
    const bytes = sampleBuffer();
    const end = positionOf(bytes, '結末') + Buffer.byteLength('結末');
    bytes.writeUInt8(1, end);
    expect(() => visit(bytes)).toThrow(`a string does not end with a zero byte (at byte ${end})`);
  });

  it('ends with an error at every 64th byte where a file is cut', () => {
    const bytes = sampleBuffer();
    for (let length = 0; length < bytes.length; length += 64) {
      expect(outcome(bytes.subarray(0, length))).toBe('flatbuffers_invalid');
    }
  });

  it('reads damaged files, or ends with a code', () => {
    const outcomes = new Map<string, number>();
    for (const bytes of mutations(sampleBuffer(), { seed: 14, count: campaignSize(2000, 40_000) })) {
      const found = outcome(bytes);
      outcomes.set(found, (outcomes.get(found) ?? 0) + 1);
    }
    expect([...outcomes.keys()]).toEqual(expect.arrayContaining(['read', 'partial', 'flatbuffers_invalid']));
  });
});
