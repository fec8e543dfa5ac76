import { checkRange, type ByteSource } from '../byte-source.ts';

export interface Splice {
  readonly offset: number;
  /** Replaced bytes; 0 inserts. */
  readonly length: number;
  readonly bytes: Uint8Array;
}

/** Bytes with some ranges replaced. Only the new bytes are in memory. */
export interface SplicedSource extends ByteSource {
  readonly splices: readonly Splice[];
  /** The ranges that stay as they are, in their order; empty ones are left out. */
  keptRanges(): Generator<{
    readonly from: number;
    readonly to: number;
    readonly length: number;
  }>;
}

/** Original bytes that are read together, so that small ranges between splices cost no read each. */
const READ_AHEAD_BYTES = 64 * 1024;

/**
 * Replaces ranges of bytes.
 *
 * @param splices in the order of their positions, without overlap
 * @throws RangeError when they overlap or do not fit
 */
export function spliceSource(base: ByteSource, splices: readonly Splice[]): SplicedSource {
  const { starts, size } = placesOf(base, splices);
  return {
    size,
    splices,
    read: (offset, length) => {
      checkRange(offset, length, size);
      return readSpliced(base, splices, starts, offset, length);
    },
    *keptRanges() {
      let from = 0;
      let to = 0;
      for (const splice of splices) {
        const length = splice.offset - from;
        if (length > 0) yield { from, to, length };
        from = splice.offset + splice.length;
        to += length + splice.bytes.length;
      }
      if (from < base.size) yield { from, to, length: base.size - from };
    },
  };
}

function placesOf(
  base: ByteSource,
  splices: readonly Splice[],
): { readonly starts: Float64Array; readonly size: number } {
  const starts = new Float64Array(splices.length);
  let end = 0;
  let shift = 0;
  for (const [index, { offset, length, bytes }] of splices.entries()) {
    if (offset < end || length < 0 || offset + length > base.size) {
      throw new RangeError(`the splice of bytes ${offset} to ${offset + length} overlaps or does not fit`);
    }
    starts[index] = offset + shift;
    end = offset + length;
    shift += bytes.length - length;
  }
  return { starts, size: base.size + shift };
}

function readSpliced(
  base: ByteSource,
  splices: readonly Splice[],
  starts: Float64Array,
  offset: number,
  length: number,
): Buffer {
  const end = offset + length;
  let index = lastStartAt(starts, offset);
  // The original position that belongs to the position `offset`, as if no later splice existed.
  let from = originalPosition(splices[index], starts[index], offset);
  if (isWithinKept(splices[index], starts[index], starts[index + 1], offset, end)) {
    return base.read(from, length);
  }
  const output = Buffer.allocUnsafe(length);
  const readBase = createReadAhead(base);
  let at = offset;
  while (at < end) {
    const splice = splices[index];
    const insertedEnd = splice === undefined ? 0 : (starts[index] ?? 0) + splice.bytes.length;
    if (splice !== undefined && at < insertedEnd) {
      const skipped = at - (starts[index] ?? 0);
      const part = splice.bytes.subarray(skipped, skipped + end - at);
      output.set(part, at - offset);
      at += part.length;
      from = splice.offset + splice.length;
      continue;
    }
    const stop = Math.min(end, starts[index + 1] ?? end);
    if (stop > at) readBase(from, stop - at, output, at - offset);
    at = stop;
    index += 1;
    const next = splices[index];
    if (next !== undefined) from = next.offset + next.length;
  }
  return output;
}

function isWithinKept(
  splice: Splice | undefined,
  start: number | undefined,
  nextStart: number | undefined,
  offset: number,
  end: number,
): boolean {
  const keptFrom = splice === undefined ? 0 : (start ?? 0) + splice.bytes.length;
  return offset >= keptFrom && (nextStart === undefined || end <= nextStart);
}

function originalPosition(splice: Splice | undefined, start: number | undefined, offset: number): number {
  if (splice === undefined) return offset;
  const behind = offset - (start ?? 0) - splice.bytes.length;
  return splice.offset + splice.length + Math.max(0, behind);
}

/** Copies ranges of rising positions, and reads some bytes ahead. */
function createReadAhead(
  base: ByteSource,
): (from: number, length: number, output: Buffer, at: number) => void {
  let ahead: Buffer = Buffer.alloc(0);
  let aheadFrom = 0;
  return (from, length, output, at) => {
    if (from < aheadFrom || from + length > aheadFrom + ahead.length) {
      ahead = base.read(from, Math.min(base.size - from, Math.max(length, READ_AHEAD_BYTES)));
      aheadFrom = from;
    }
    ahead.copy(output, at, from - aheadFrom, from - aheadFrom + length);
  };
}

function lastStartAt(starts: Float64Array, position: number): number {
  let low = -1;
  let high = starts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}
