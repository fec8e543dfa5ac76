import { ByteBuffer } from 'flatbuffers';
import { describe, expect, it } from 'vitest';
import { DOTTED_SYNTAX } from '../../../../../src/daemon/formats/collect/path-syntax.ts';
import {
  createStringCodec,
  type StringCodec,
} from '../../../../../src/daemon/formats/codecs/string-codec.ts';
import { readBinarySchema } from '../../../../../src/daemon/formats/flatbuffers/binary-schema.ts';
import {
  patchFlatBuffer,
  type PatchFlatBufferOptions,
} from '../../../../../src/daemon/formats/flatbuffers/patch-flatbuffer.ts';
import { visitFlatBuffer } from '../../../../../src/daemon/formats/flatbuffers/visit-flatbuffer.ts';
import { FormatError } from '../../../../../src/daemon/formats/format-error.ts';
import { PatchError } from '../../../../../src/daemon/formats/patch/patch-error.ts';
import { READ_LIMITS } from '../../../../../src/daemon/formats/value-visitor.ts';
import { SAMPLE_SCHEMA, sampleBuffer } from '../../../../support/flatbuffer-sample.ts';
import { mutations } from '../../../../support/mutate.ts';
import { editedTexts, patchErrorOf, randomEdits, textsByPath } from '../../../../support/random-edits.ts';

const SCHEMA = readBinarySchema(SAMPLE_SCHEMA);
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
