import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StringCodecError } from '../../../../../src/daemon/formats/codecs/string-codec-error.ts';
import { createStringCodec } from '../../../../../src/daemon/formats/codecs/string-codec.ts';
import { FormatError } from '../../../../../src/daemon/formats/format-error.ts';

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
