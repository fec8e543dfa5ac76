import { isUtf8 } from 'node:buffer';
import { DOTTED_SYNTAX } from '../collect/path-syntax.ts';
import { type EditPlace, findPlaces, type ValueEdit } from '../patch/find-places.ts';
import { checkLength } from '../patch/patch-error.ts';
import type { Splice } from '../patch/spliced-source.ts';
import { FormatError } from '../format-error.ts';
import { forwardingVisitor, type ReadLimits, type ValueVisitor, visitorOf } from '../value-visitor.ts';
import type { SerializedFile, SerializedObject } from './serialized-file.ts';
import { objectLimits, readObjectBytes, textBytes, visitObject } from './visit-object.ts';

/**
 * The splices that make edits in an object. A text that is not valid UTF-8 is bytes for nested edits, as it is for the
 * parser.
 *
 * @returns splices with positions in the serialized file, in their order
 * @throws PatchError as {@link findPlaces}, and `text_too_long`
 * @throws FormatError as {@link visitObject}
 */
export function objectSplices(
  file: SerializedFile,
  object: SerializedObject,
  edits: readonly ValueEdit[],
  limits: ReadLimits,
): Splice[] {
  const { bytes, places } = objectPlaces(file, object, edits, limits);
  const { stringBytes } = objectLimits(object, limits);
  for (const { edit, target } of places) checkLength(edit.fieldPath, target, stringBytes);
  return textSplices(bytes, places, file.header.littleEndian).map((splice) => ({
    ...splice,
    offset: object.offset + splice.offset,
  }));
}

/** Finds the places of edits in an object, and its bytes. @throws PatchError, FormatError as {@link objectSplices} */
export function objectPlaces(
  file: SerializedFile,
  object: SerializedObject,
  edits: readonly ValueEdit[],
  limits: ReadLimits,
): { readonly bytes: Buffer; readonly places: readonly EditPlace[] } {
  const bytes = readObjectBytes(file, object);
  const places = findPlaces(edits, DOTTED_SYNTAX, (visitor) => {
    visitObject(file, object, withRawBytes(visitor, file, bytes), objectLimits(object, limits));
  });
  return { bytes, places };
}

/** The file in a text asset. @throws FormatError as {@link visitObject} */
export function scriptOf(file: SerializedFile, object: SerializedObject, limits: ReadLimits): Buffer {
  const bytes = readObjectBytes(file, object);
  return textBytes(file, bytes, scriptPlace(file, object, limits).start);
}

/** The splices that write another file into a text asset, as {@link objectSplices}. @throws FormatError as {@link visitObject} */
export function replaceScript(
  file: SerializedFile,
  object: SerializedObject,
  target: Uint8Array,
  limits: ReadLimits,
): Splice[] {
  const change = { ...scriptPlace(file, object, limits), target };
  const splices = textSplices(readObjectBytes(file, object), [change], file.header.littleEndian);
  return splices.map((splice) => ({ ...splice, offset: object.offset + splice.offset }));
}

function scriptPlace(
  file: SerializedFile,
  object: SerializedObject,
  limits: ReadLimits,
): { readonly start: number; readonly end: number } {
  let place: { readonly start: number; readonly end: number } | null = null;
  let field = '';
  const visitor = visitorOf({
    field: (name) => (field = name),
    text: (_value, start, end) => {
      if (field === 'm_Script') place = { start, end };
    },
  });
  visitObject(file, object, visitor, objectLimits(object, limits));
  if (place === null) throw new FormatError('typetree_invalid', `object ${object.pathId} has no m_Script`);
  return place;
}

/** Reports texts that are not valid UTF-8 as bytes. */
function withRawBytes(visitor: ValueVisitor, file: SerializedFile, object: Buffer): ValueVisitor {
  return forwardingVisitor(visitor, {
    text: (value, start, end) => {
      // The character replaced invalid bytes, or the text contains it.
      const raw = value.includes('\uFFFD') ? textBytes(file, object, start) : null;
      if (raw === null || isUtf8(raw)) visitor.text(value, start, end);
      else visitor.bytes(raw, start, end);
    },
  });
}

interface TextChange {
  /** Its place in the object, as the reader reports it: with the length prefix and the padding. */
  readonly start: number;
  readonly end: number;
  /** A text, or the bytes of a file that stands in the place of a text. */
  readonly target: string | Uint8Array;
}

const LENGTH_BYTES = 4;
const ALIGNMENT = 4;
/** Texts that are closer are changed by one splice with the bytes between them: a splice costs about as much memory. */
const JOINED_BYTES = 256;

/**
 * The splices that change texts of an object: the length prefix, the bytes and the padding are new. Each is a multiple of 4
 * longer or shorter than what it replaces, so that everything behind it stays aligned.
 */
function textSplices(object: Buffer, changes: readonly TextChange[], littleEndian: boolean): Splice[] {
  const splices: Splice[] = [];
  let first = 0;
  for (let next = 1; next <= changes.length; next += 1) {
    const end = changes[next - 1]?.end ?? 0;
    if ((changes[next]?.start ?? Infinity) - end < JOINED_BYTES) continue;
    splices.push(joinedSplice(object, changes.slice(first, next), littleEndian));
    first = next;
  }
  return splices;
}

function joinedSplice(object: Buffer, changes: readonly TextChange[], littleEndian: boolean): Splice {
  const offset = changes[0]?.start ?? 0;
  const end = changes.at(-1)?.end ?? 0;
  const lengths = changes.map(({ target }) => byteLength(target));
  let size = end - offset;
  for (const [index, change] of changes.entries()) {
    size += encodedBytes(change, lengths[index] ?? 0) - (change.end - change.start);
  }
  const bytes = Buffer.alloc(size);
  let from = offset;
  let at = 0;
  for (const [index, change] of changes.entries()) {
    at += object.copy(bytes, at, from, change.start);
    at = writeText(bytes, at, { change, length: lengths[index] ?? 0, littleEndian });
    from = change.end;
  }
  return { offset, length: end - offset, bytes };
}

/** Bytes of the new form of a text of some bytes. Alignment counts from the start of the object. */
function encodedBytes({ start }: TextChange, length: number): number {
  const end = start + LENGTH_BYTES + length;
  return Math.ceil(end / ALIGNMENT) * ALIGNMENT - start;
}

function byteLength(target: string | Uint8Array): number {
  return typeof target === 'string' ? Buffer.byteLength(target) : target.length;
}

function writeText(
  bytes: Buffer,
  at: number,
  {
    change,
    length,
    littleEndian,
  }: { readonly change: TextChange; readonly length: number; readonly littleEndian: boolean },
): number {
  const { target } = change;
  if (littleEndian) bytes.writeInt32LE(length, at);
  else bytes.writeInt32BE(length, at);
  if (typeof target === 'string') bytes.write(target, at + LENGTH_BYTES, 'utf8');
  else bytes.set(target, at + LENGTH_BYTES);
  return at + encodedBytes(change, length);
}
