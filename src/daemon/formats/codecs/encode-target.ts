import { FormatError } from '../format-error.ts';
import { PatchError } from '../patch/patch-error.ts';
import type { StringCodec } from './string-codec.ts';

/**
 * Encodes a target text, and checks that it decodes to the same text again.
 *
 * @param target well-formed UTF-16
 * @param limit bytes of one string as it is stored; readers refuse a longer one
 * @throws PatchError `text_too_long`, `round_trip_failed`
 */
export function encodeTarget(fieldPath: string, target: string, codec: StringCodec, limit: number): Buffer {
  const bytes = codec.encode(target);
  if (bytes.length > limit) {
    const message = `the target text takes ${bytes.length} bytes in the file, more than ${limit}`;
    throw new PatchError('text_too_long', fieldPath, message);
  }
  if (decodes(bytes, target, codec)) return bytes;
  throw new PatchError(
    'round_trip_failed',
    fieldPath,
    'the codec does not decode what it encoded to the same text',
  );
}

function decodes(bytes: Buffer, target: string, codec: StringCodec): boolean {
  try {
    return codec.decode(bytes) === target;
  } catch (error) {
    if (error instanceof FormatError) return false;
    throw error;
  }
}
