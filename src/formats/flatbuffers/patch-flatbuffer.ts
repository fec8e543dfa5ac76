import { DOTTED_SYNTAX } from '../collect/path-syntax.ts';
import { findPlaces, type EditPlace, type ValueEdit } from '../patch/find-places.ts';
import { numberedVisitor, READ_LIMITS, type ReadLimits } from '../value-visitor.ts';
import { PatchError } from '../patch/patch-error.ts';
import type { BinarySchema } from './binary-schema.ts';
import { visitFlatBuffer, type FlatBufferOptions, type TextReference } from './visit-flatbuffer.ts';
import { readableOr } from '../format-error.ts';
import type { StringCodec } from '../codecs/string-codec.ts';

export interface PatchFlatBufferOptions {
  readonly codecOf?: NonNullable<FlatBufferOptions['codecOf']>;
  readonly limits?: ReadLimits;
}

/** Bytes of the largest buffer: FlatBuffers has signed 32-bit offsets too (`FLATBUFFERS_MAX_BUFFER_SIZE`). */
const MAX_BYTES = 2 ** 31 - 1;
const PREFIX_BYTES = 4;
/** Strings are aligned to their length prefix. */
const STRING_ALIGNMENT = 4;
/** A vector of bytes can hold a buffer with an alignment of its own, up to that of its largest scalar or struct. */
const BYTES_ALIGNMENT = 16;

interface Found {
  readonly reference: TextReference;
  readonly prefix: number;
}

/**
 * Replaces texts of a FlatBuffer: appends the new ones at the end and stores their offsets in the places of the old ones.
 * The old texts stay where they are, because others can refer to them.
 *
 * @throws PatchError, also `not_writable` for a text of a table to which several paths lead; FormatError when the buffer
 *   cannot be read
 */
export function patchFlatBuffer(
  bytes: Uint8Array,
  schema: BinarySchema,
  edits: readonly ValueEdit[],
  options: PatchFlatBufferOptions = {},
): Buffer {
  const limits = options.limits ?? READ_LIMITS;
  const { places, found, uses } = locate(bytes, schema, edits, { ...options, limits });
  checkShared(places, found, uses);
  const writer = createAppender(bytes.length);
  const references = places.map((place) => {
    const { reference, prefix } = foundOf(found, place);
    return {
      position: reference.position,
      target: writer.append(stored(place, reference, limits), reference, prefix),
    };
  });
  const patched = Buffer.concat([bytes, ...writer.parts]);
  for (const { position, target } of references) patched.writeUInt32LE(target - position, position);
  return patched;
}

/** Finds the texts of edits. @throws PatchError; FormatError when the buffer cannot be read */
export function flatBufferPlaces(
  bytes: Uint8Array,
  schema: BinarySchema,
  edits: readonly ValueEdit[],
  { limits = READ_LIMITS, ...options }: PatchFlatBufferOptions = {},
): {
  readonly places: readonly EditPlace[];
  readonly references: readonly number[];
} {
  const { places, found } = locate(bytes, schema, edits, { ...options, limits });
  return { places, references: places.map((place) => foundOf(found, place).reference.position) };
}

function locate(
  bytes: Uint8Array,
  schema: BinarySchema,
  edits: readonly ValueEdit[],
  options: PatchFlatBufferOptions & { readonly limits: ReadLimits },
): { places: readonly EditPlace[]; found: readonly Found[]; uses: ReadonlyMap<number, number> } {
  const found: Found[] = [];
  let uses = new Map<number, number>();
  const places = findPlaces(edits, DOTTED_SYNTAX, (visitor) => {
    uses = new Map();
    let reference: TextReference | null = null;
    const add = (prefix: number): number => {
      if (reference === null) throw new Error('a text has no reference');
      uses.set(reference.position, (uses.get(reference.position) ?? 0) + 1);
      return found.push({ reference, prefix }) - 1;
    };
    const wrapped = numberedVisitor(visitor, (_value, prefix) => add(prefix));
    visitFlatBuffer(bytes, schema, wrapped, {
      ...options,
      reportPartError: () => undefined,
      onReference: (each) => {
        reference = each;
      },
    });
  });
  return { places, found, uses };
}

function foundOf(found: readonly Found[], { start }: EditPlace): Found {
  const place = found[start];
  if (place === undefined) throw new Error('a place has no reference');
  return place;
}

/** Another path can lead to the same table. Its text would change too, so all paths must get the same text. */
function checkShared(
  places: readonly EditPlace[],
  found: readonly Found[],
  uses: ReadonlyMap<number, number>,
): void {
  const byPosition = Map.groupBy(places, (place) => foundOf(found, place).reference.position);
  for (const [position, group] of byPosition) {
    const [first] = group;
    if (first === undefined) continue;
    const isSame = group.every(({ target }) => Buffer.from(target).equals(Buffer.from(first.target)));
    if (isSame && group.length === uses.get(position)) continue;
    const message = `${uses.get(position)} paths lead to the text, and they do not all get the same target text`;
    throw new PatchError('not_writable', first.edit.fieldPath, message);
  }
}

function stored({ edit, target }: EditPlace, { codec }: TextReference, limits: ReadLimits): Uint8Array {
  if (typeof target !== 'string') return target;
  if (codec === null) throw new Error('a text has no codec');
  return encodeTarget(edit.fieldPath, target, codec, limits.stringBytes);
}

interface Appender {
  readonly parts: readonly Uint8Array[];
  /** Appends a text; returns the position of its length prefix. Equal strings are appended once. */
  append(content: Uint8Array, reference: TextReference, oldPrefix: number): number;
}

function createAppender(start: number): Appender {
  const parts: Uint8Array[] = [];
  const strings = new Map<string, number>();
  let end = start;
  const add = (part: Uint8Array): void => {
    parts.push(part);
    end += part.length;
    if (end > MAX_BYTES) {
      throw new PatchError(
        'file_too_large',
        '',
        `the patched FlatBuffer would have more than ${MAX_BYTES} bytes`,
      );
    }
  };
  return {
    parts,
    append: (content, { stored: form }, oldPrefix) => {
      const key = form === 'string' ? Buffer.from(content).toString('latin1') : null;
      const earlier = key === null ? undefined : strings.get(key);
      if (earlier !== undefined) return earlier;
      const alignment = form === 'string' ? STRING_ALIGNMENT : BYTES_ALIGNMENT;
      const remainder = form === 'string' ? 0 : oldPrefix % BYTES_ALIGNMENT;
      add(Buffer.alloc((((remainder - end) % alignment) + alignment) % alignment));
      const prefix = end;
      if (key !== null) strings.set(key, prefix);
      const length = Buffer.alloc(PREFIX_BYTES);
      length.writeUInt32LE(content.length);
      add(length);
      add(content);
      // A zero byte ends a string.
      if (form === 'string') add(Buffer.alloc(1));
      return prefix;
    },
  };
}

/**
 * Encodes a target text, and checks that it decodes to the same text again.
 *
 * @throws PatchError `text_too_long`, `round_trip_failed`
 */
function encodeTarget(fieldPath: string, target: string, codec: StringCodec, limit: number): Buffer {
  const bytes = codec.encode(target);
  if (bytes.length > limit) {
    const message = `the target text takes ${bytes.length} bytes in the file, more than ${limit}`;
    throw new PatchError('text_too_long', fieldPath, message);
  }
  if (readableOr(null, () => codec.decode(bytes)) === target) return bytes;
  throw new PatchError(
    'round_trip_failed',
    fieldPath,
    'the codec does not decode what it encoded to the same text',
  );
}
