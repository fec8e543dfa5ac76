import { isUtf8 } from 'node:buffer';
import { FormatError } from '../format-error.ts';
import { bufferOf } from '../../platform/buffer-of.ts';

/** The specification of a string codec is wrong: a step is unknown or at a wrong place, or a secret is missing. */
export class StringCodecError extends Error {
  /** Position of the wrong step in the specification, in UTF-16 code units from 0. */
  readonly position: number;

  /** @param message what is wrong and what is known, without the position, which is appended */
  constructor(message: string, position: number) {
    super(`${message} (at character ${position})`);
    this.name = 'StringCodecError';
    this.position = position;
  }
}

/** Turns the bytes that a file stores for a string into text, and back. */
export interface StringCodec {
  /**
   * Decodes a string, and checks that {@link encode} gives the same bytes again, so that write-back is exact.
   *
   * @throws FormatError `encoding_invalid` when a codec of only a character set meets bytes outside of it;
   *   `codec_mismatch` when the bytes do not fit another codec
   */
  decode(bytes: Uint8Array): string;
  /** Encodes a text, also one that was never decoded. */
  encode(text: string): Buffer;
}

interface ByteStep {
  decode(bytes: Buffer): Buffer;
  encode(bytes: Buffer): Buffer;
}

interface Charset {
  isValid(bytes: Buffer): boolean;
  readonly encoding: 'utf8' | 'utf16le';
}

const CHARSETS: Readonly<Record<string, Charset>> = {
  utf8: { isValid: isUtf8, encoding: 'utf8' },
  utf16le: {
    isValid: (bytes) => bytes.length % 2 === 0 && bytes.toString('utf16le').isWellFormed(),
    encoding: 'utf16le',
  },
};

const BASE64: ByteStep = {
  decode: (bytes) => Buffer.from(bytes.toString('latin1'), 'base64'),
  encode: (bytes) => Buffer.from(bytes.toString('base64'), 'latin1'),
};

const XOR = 'xor:';
const KNOWN_STEPS = 'base64, utf16le, utf8, xor:<secret name>';

/**
 * Creates the codec that a rule names. A specification is a chain of steps joined by `+`, in the order from the bytes in
 * the file to the text: `base64+xor:table-key+utf16le` decodes base64, then applies the key, then reads UTF-16.
 *
 * - `base64`: RFC 4648 section 4, with padding.
 * - `xor:<secret name>`: the bytes of the secret, repeated. A name holds no `+`.
 * - `utf8`, `utf16le`: the character set; only as the last step. A chain without one ends with `utf8`.
 *
 * @throws StringCodecError when the specification is wrong
 */
export function createStringCodec(
  specification: string,
  secrets: ReadonlyMap<string, Uint8Array>,
): StringCodec {
  const byteSteps: ByteStep[] = [];
  let charset: Charset | null = null;
  let position = 0;
  for (const name of specification.split('+')) {
    if (charset !== null) {
      throw new StringCodecError(`no step can follow the character set, but "${name}" does`, position);
    }
    charset = Object.hasOwn(CHARSETS, name) ? (CHARSETS[name] ?? null) : null;
    if (charset === null) byteSteps.push(byteStep(name, secrets, position));
    position += name.length + 1;
  }
  return assembleCodec(byteSteps, charset ?? { isValid: isUtf8, encoding: 'utf8' });
}

/** Strings as FlatBuffers and most other formats store them. */
export const UTF8_CODEC: StringCodec = createStringCodec('utf8', new Map());

function byteStep(name: string, secrets: ReadonlyMap<string, Uint8Array>, position: number): ByteStep {
  if (name === 'base64') return BASE64;
  if (!name.startsWith(XOR)) {
    throw new StringCodecError(`"${name}" is not a step of a string codec; known: ${KNOWN_STEPS}`, position);
  }
  const secretName = name.slice(XOR.length);
  const secret = secrets.get(secretName);
  if (secret === undefined) {
    const known = [...secrets.keys()].toSorted().join(', ') || 'none';
    throw new StringCodecError(`the secret "${secretName}" is not configured; known: ${known}`, position);
  }
  if (secret.length === 0) throw new StringCodecError(`the secret "${secretName}" is empty`, position);
  const apply = (bytes: Buffer): Buffer => xor(bytes, secret);
  return { decode: apply, encode: apply };
}

function assembleCodec(byteSteps: readonly ByteStep[], charset: Charset): StringCodec {
  const encode = (text: string): Buffer => {
    let bytes: Buffer = Buffer.from(text, charset.encoding);
    for (const step of byteSteps.toReversed()) bytes = step.encode(bytes);
    return bytes;
  };
  return {
    encode,
    decode: (stored) => {
      const original = bufferOf(stored);
      let bytes: Buffer = original;
      for (const step of byteSteps) bytes = step.decode(bytes);
      if (!charset.isValid(bytes)) {
        if (byteSteps.length > 0) throw new FormatError('codec_mismatch', 'the decoded string is not text');
        throw new FormatError('encoding_invalid', `the string is not valid ${charset.encoding}`);
      }
      const text = bytes.toString(charset.encoding);
      // Valid bytes of a character set always come back; the steps before it can lose some.
      if (byteSteps.length > 0 && !encode(text).equals(original)) {
        throw new FormatError('codec_mismatch', 'encoding the decoded string again gives other bytes');
      }
      return text;
    },
  };
}

function xor(bytes: Buffer, key: Uint8Array): Buffer {
  const result = Buffer.allocUnsafe(bytes.length);
  for (let index = 0; index < bytes.length; index += 1) {
    result[index] = (bytes[index] ?? 0) ^ (key[index % key.length] ?? 0);
  }
  return result;
}
