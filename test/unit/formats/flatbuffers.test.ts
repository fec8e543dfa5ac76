import { ByteBuffer } from 'flatbuffers';
import { describe, expect, it } from 'vitest';
import { binarySchema, type SchemaDescription } from '../../../demo/game/binary-schema.ts';
import { BASE_TYPE as TYPE, readBinarySchema } from '../../../src/formats/flatbuffers/binary-schema.ts';
import { createStringCodec, type StringCodec } from '../../../src/formats/codecs/string-codec.ts';
import { DOTTED_SYNTAX } from '../../../src/formats/collect/path-syntax.ts';
import {
  patchFlatBuffer,
  type PatchFlatBufferOptions,
} from '../../../src/formats/flatbuffers/patch-flatbuffer.ts';
import {
  visitFlatBuffer,
  type FlatBufferOptions,
} from '../../../src/formats/flatbuffers/visit-flatbuffer.ts';
import { FormatError } from '../../../src/formats/format-error.ts';
import { PatchError } from '../../../src/formats/patch/patch-error.ts';
import { READ_LIMITS } from '../../../src/formats/value-visitor.ts';
import {
  childChain,
  SAMPLE_DESCRIPTION,
  SAMPLE_SCHEMA,
  sampleBuffer,
  sharedTexts,
} from '../../support/flatbuffer-sample.ts';
import { campaignSize } from '../../support/long.ts';
import { mutations } from '../../support/mutate.ts';
import { editedTexts, patchErrorOf, randomEdits, textsByPath } from '../../support/random-edits.ts';
import { recordValues, valuesOf, type ValueEvent } from '../../support/record-values.ts';

const SCHEMA = readBinarySchema(SAMPLE_SCHEMA);

/** The message of the error, which must be `schema_invalid`; `null` without one. */
function problemOf(bytes: Uint8Array): string | null {
  try {
    readBinarySchema(bytes);
    return null;
  } catch (error) {
    if (!(error instanceof FormatError) || error.code !== 'schema_invalid') throw error;
    return error.message;
  }
}

function withRootField(field: { base: number; element?: number; refersTo?: string }): SchemaDescription {
  return { root: 'Root', objects: [{ name: 'Root', fields: [{ name: 'field', ...field }] }] };
}

describe('the reader of binary FlatBuffers schemas', () => {
  it('reads tables, structs, unions, defaults and the root', () => {
    const schema = readBinarySchema(SAMPLE_SCHEMA);
    expect(schema.identifier).toBe('SAMP');
    expect(schema.objects.map(({ name }) => name)).toEqual(['Box', 'Child', 'Point', 'Root']);
    expect(schema.objects[2]).toMatchObject({ isStruct: true, bytes: 8 });
    expect(schema.root.name).toBe('Root');
    const declared = SAMPLE_DESCRIPTION.objects[0]?.fields ?? [];
    expect(schema.root.fields.map(({ name }) => name)).toEqual(
      declared.filter(({ deprecated }) => deprecated !== true).map(({ name }) => name),
    );
    expect(schema.root.fields.find(({ name }) => name === 'level')).toMatchObject({ defaultInteger: 7n });
    expect([...(schema.unions[0] ?? [])].map(([number, { base }]) => [number, base])).toEqual([
      [1, TYPE.object],
      [2, TYPE.string],
      [3, TYPE.object],
    ]);
  });

  it.each([
    ['an empty file', Buffer.alloc(0), /8 bytes|4 bytes/],
    ['another file', sampleBuffer(), 'the file is not a binary FlatBuffers schema (at byte 4)'],
    ['no root', binarySchema({ objects: [] }), /declares no root_type/],
    [
      'a root that is a struct',
      binarySchema({ root: 'Root', objects: [{ name: 'Root', structBytes: 4, fields: [] }] }),
      /has no table "Root", its root_type/,
    ],
    [
      'a struct without bytes',
      binarySchema({ root: 'Root', objects: [{ name: 'Root', structBytes: -4, fields: [] }] }),
      /the struct "Root" has -4 bytes/,
    ],
    [
      'a vector with 64-bit length',
      binarySchema(withRootField({ base: 18 })),
      /the type 18 is not supported/,
    ],
    [
      'a table that does not exist',
      binarySchema(withRootField({ base: TYPE.vector, element: TYPE.object, refersTo: 'Nothing' })),
      'the type of Root.field refers to number -1 of 1',
    ],
    [
      'a union that does not exist',
      binarySchema(withRootField({ base: TYPE.union })),
      'the type of Root.field refers to number -1 of 0',
    ],
  ])('finds %s', (_, bytes, message) => {
    expect(problemOf(bytes)).toMatch(message);
  });

  it('ends with an error at every 64th byte where a schema is cut', () => {
    for (let length = 0; length < SAMPLE_SCHEMA.length; length += 64) {
      expect(problemOf(SAMPLE_SCHEMA.subarray(0, length))).not.toBeNull();
    }
  });

  it('reads damaged schemas and a buffer by them, or ends with a code', () => {
    const buffer = sampleBuffer();
    const outcomes = new Set<string>();
    for (const bytes of mutations(SAMPLE_SCHEMA, { seed: 15, count: campaignSize(2000, 40_000) })) {
      try {
        const schema = readBinarySchema(bytes);
        visitFlatBuffer(buffer, schema, recordValues().visitor, {
          limits: READ_LIMITS,
          reportPartError: () => {},
        });
        outcomes.add('read');
      } catch (error) {
        if (!(error instanceof FormatError)) throw error;
        outcomes.add(error.code);
      }
    }
    expect([...outcomes]).toEqual(expect.arrayContaining(['read', 'schema_invalid', 'flatbuffers_invalid']));
  });
});

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

const SECRET = createStringCodec('xor:key+utf8', new Map([['key', Buffer.from('k1')]]));
const BASE64 = createStringCodec('base64', new Map());
const CODED: PatchFlatBufferOptions = { codecOf: ({ stored }) => (stored === 'bytes' ? SECRET : null) };

const textsOf = (bytes: Uint8Array, options: PatchFlatBufferOptions = {}): ReadonlyMap<string, string> =>
  textsByPath(DOTTED_SYNTAX, (visitor) => {
    visitFlatBuffer(bytes, SCHEMA, visitor, {
      limits: READ_LIMITS,
      reportPartError: () => undefined,
      ...options,
    });
  });

const edit = (fieldPath: string, source: string, target: string) => ({ fieldPath, source, target });

describe('patchFlatBuffer', () => {
  it('appends the new texts, and changes only the offsets that lead to them', () => {
    const file = sampleBuffer();
    const edits = [edit('texts[0]', '共有', 'shared'), edit('text', '先生、おはよう。', 'Good morning.')];
    const patched = patchFlatBuffer(file, SCHEMA, edits);
    expect(textsOf(patched)).toEqual(editedTexts(textsOf(file), edits));
    const changed = [...file].filter((byte, at) => byte !== patched[at]);
    expect(changed.length).toBeLessThanOrEqual(8);
    expect(patched.subarray(file.length).includes('Good morning.\0')).toBe(true);
    // The runtime of FlatBuffers finds it too: the text is the field with number 11.
    const buffer = new ByteBuffer(patched);
    const root = buffer.readInt32(0);
    expect(buffer.__string(root + buffer.__offset(root, 26))).toBe('Good morning.');
  });

  it('appends equal texts once, aligned', () => {
    const file = Buffer.concat([sampleBuffer(), Buffer.of(1, 2, 3)]);
    const edits = [
      edit('texts[0]', '共有', 'same'),
      edit('texts[1]', '先生、おはよう。', 'same'),
      edit('any', '結末', ''),
    ];
    const patched = patchFlatBuffer(file, SCHEMA, edits);
    expect(patched.length).toBe(file.length + (-file.length & 3) + 4 + 5 + 3 + 4 + 1);
    expect(textsOf(patched)).toEqual(editedTexts(textsOf(file), edits));
  });

  it('encodes with the codec of the field, and keeps the alignment of bytes', () => {
    const coded = sampleBuffer();
    const at = coded.indexOf('秘密');
    SECRET.encode('秘密').copy(coded, at);
    const edits = [edit('blob', '秘密', 'a secret 🎉')];
    const patched = patchFlatBuffer(coded, SCHEMA, edits, CODED);
    expect(textsOf(patched, CODED)).toEqual(editedTexts(textsOf(coded, CODED), edits));
    expect(patched.indexOf(SECRET.encode('a secret 🎉')) % 16).toBe(at % 16);
    expect(patched.includes('secret')).toBe(false);
  });

  it('replaces a file inside of bytes', () => {
    const file = sampleBuffer();
    const patched = patchFlatBuffer(file, SCHEMA, [
      { fieldPath: 'blob', patch: (value) => Buffer.from(`${String(value)}!`) },
    ]);
    expect(
      textsOf(patched, {
        codecOf: ({ stored }) => (stored === 'bytes' ? createStringCodec('utf8', new Map()) : null),
      }).get('blob'),
    ).toBe('秘密!');
  });

  it('changes the text of a shared table only for all its paths', () => {
    const file = sampleBuffer();
    const [first, second] = ['children[1].name', 'many[2].name'];
    const change = (...edits: ReturnType<typeof edit>[]): Buffer => patchFlatBuffer(file, SCHEMA, edits);
    const refused = { code: 'not_writable', fieldPath: first };
    expect(patchErrorOf(() => change(edit(first, 'ホシノ', 'Hoshino')))).toEqual(refused);
    const other = edit(second, 'ホシノ', 'Shiroko');
    expect(patchErrorOf(() => change(edit(first, 'ホシノ', 'Hoshino'), other))).toEqual(refused);
    const both = [edit(first, 'ホシノ', 'Hoshino'), edit(second, 'ホシノ', 'Hoshino')];
    expect(textsOf(change(...both))).toEqual(editedTexts(textsOf(file), both));
  });

  it('refuses what it cannot write', () => {
    const file = sampleBuffer();
    const options = { limits: { ...READ_LIMITS, stringBytes: 30 } };
    const long = [edit('text', '先生、おはよう。', 'x'.repeat(31))];
    expect(patchErrorOf(() => patchFlatBuffer(file, SCHEMA, long, options))).toEqual({
      code: 'text_too_long',
      fieldPath: 'text',
    });
    const codecOf = (): StringCodec => ({ ...BASE64, decode: () => 'fixed' });
    const lossy = [edit('text', 'fixed', 'A')];
    expect(patchErrorOf(() => patchFlatBuffer(file, SCHEMA, lossy, { codecOf }))?.code).toBe(
      'round_trip_failed',
    );
  });

  it('reads back exactly, whatever is edited', () => {
    const file = sampleBuffer();
    const texts = textsOf(file);
    for (let seed = 1; seed <= 100; seed += 1) {
      const edits = randomEdits(texts, seed).filter(({ source }) => source !== 'ホシノ');
      const patched = patchFlatBuffer(file, SCHEMA, edits);
      expect(textsOf(patched)).toEqual(editedTexts(texts, edits));
      expect(patchFlatBuffer(file, SCHEMA, edits).equals(patched)).toBe(true);
    }
  });

  it('refuses damaged files, or changes only the edited text', () => {
    let patchedFiles = 0;
    for (const damaged of mutations(sampleBuffer(), { seed: 1, count: 1000 })) {
      try {
        const before = textsOf(damaged);
        const edits = [edit('text', '先生、おはよう。', 'Good morning.')];
        expect(textsOf(patchFlatBuffer(damaged, SCHEMA, edits))).toEqual(editedTexts(before, edits));
        patchedFiles += 1;
      } catch (error) {
        if (!(error instanceof FormatError || error instanceof PatchError)) throw error;
      }
    }
    expect(patchedFiles).toBeGreaterThan(20);
  });
});
