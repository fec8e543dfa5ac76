import type { Splice } from '../patch/spliced-source.ts';

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
export function textSplices(object: Buffer, changes: readonly TextChange[], littleEndian: boolean): Splice[] {
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
