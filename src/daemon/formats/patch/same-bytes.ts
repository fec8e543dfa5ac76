import type { ByteSource } from '../byte-source.ts';

/** Bytes that are compared at a time. */
const CHUNK_BYTES = 1024 * 1024;

/** A range of bytes. */
interface ByteRange {
  readonly source: ByteSource;
  readonly offset: number;
  /** Bytes. */
  readonly length: number;
}

/**
 * Whether two ranges have the same bytes.
 *
 * @throws FormatError when a source cannot be read
 */
export function isSameRange(left: ByteRange, right: ByteRange): boolean {
  if (left.length !== right.length) return false;
  for (let done = 0; done < left.length; done += CHUNK_BYTES) {
    const length = Math.min(CHUNK_BYTES, left.length - done);
    const bytes = left.source.read(left.offset + done, length);
    if (!bytes.equals(right.source.read(right.offset + done, length))) return false;
  }
  return true;
}

/** Whether two sources have the same bytes. */
export function isSameSource(left: ByteSource, right: ByteSource): boolean {
  return isSameRange(
    { source: left, offset: 0, length: left.size },
    { source: right, offset: 0, length: right.size },
  );
}

/** Whether two files are the same in front of, between and behind the places of edits. */
export function isSameBetween(left: EditedRange, right: EditedRange): boolean {
  if (left.places.length !== right.places.length) return false;
  if (!Buffer.from(left.head ?? []).equals(right.head ?? Buffer.alloc(0))) return false;
  let [leftEnd, rightEnd] = [0, 0];
  for (const [number, place] of left.places.entries()) {
    const other = right.places[number];
    if (other === undefined) return false;
    if (!left.slice(leftEnd, place.start).equals(right.slice(rightEnd, other.start))) return false;
    [leftEnd, rightEnd] = [place.end, other.end];
  }
  return left.slice(leftEnd, left.size).equals(right.slice(rightEnd, right.size));
}

/** A file with the places of edits. */
export interface EditedRange {
  /** Bytes that no position counts, such as a byte order mark. */
  readonly head?: Uint8Array;
  /** In their order. */
  readonly places: readonly { readonly start: number; readonly end: number }[];
  /** The position behind the last byte. */
  readonly size: number;
  /** The bytes between two positions. */
  slice(start: number, end: number): Buffer;
}
