import type { ByteSource } from '../byte-source.ts';

const CHUNK_BYTES = 1024 * 1024;

export interface ByteRange {
  readonly source: ByteSource;
  readonly offset: number;
  readonly length: number;
}

export function isSameRange(left: ByteRange, right: ByteRange): boolean {
  if (left.length !== right.length) return false;
  for (let done = 0; done < left.length; done += CHUNK_BYTES) {
    const length = Math.min(CHUNK_BYTES, left.length - done);
    const bytes = left.source.read(left.offset + done, length);
    if (!bytes.equals(right.source.read(right.offset + done, length))) return false;
  }
  return true;
}

export function isSameSource(left: ByteSource, right: ByteSource): boolean {
  return isSameRange(
    { source: left, offset: 0, length: left.size },
    { source: right, offset: 0, length: right.size },
  );
}

/** A file with some places in it. */
export interface PlacedRange {
  /** Bytes that no position counts, such as a byte order mark. */
  readonly head?: Uint8Array;
  readonly places: readonly { readonly start: number; readonly end: number }[];
  readonly size: number;
  slice(start: number, end: number): Buffer;
}

/**
 * Compares two files that should differ only in their places.
 *
 * @returns how many places differ; `null` when they have another number of places, or differ in front of, between or behind
 * them
 */
export function differentPlaces(left: PlacedRange, right: PlacedRange): number | null {
  if (left.places.length !== right.places.length) return null;
  if (!Buffer.from(left.head ?? []).equals(right.head ?? Buffer.alloc(0))) return null;
  let [leftEnd, rightEnd, different] = [0, 0, 0];
  for (const [number, place] of left.places.entries()) {
    const other = right.places[number];
    if (other === undefined) return null;
    if (!left.slice(leftEnd, place.start).equals(right.slice(rightEnd, other.start))) return null;
    if (!left.slice(place.start, place.end).equals(right.slice(other.start, other.end))) different += 1;
    [leftEnd, rightEnd] = [place.end, other.end];
  }
  return left.slice(leftEnd, left.size).equals(right.slice(rightEnd, right.size)) ? different : null;
}
