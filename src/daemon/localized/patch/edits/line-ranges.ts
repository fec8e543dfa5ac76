import { readSync } from 'node:fs';

/** A range of bytes of a file that is whole lines. */
export interface LineRange {
  readonly offset: number;
  readonly length: number;
}

/** Bytes that are read at a time. */
const CHUNK_BYTES = 256 * 1024;
const LINE_END = 0x0a;

/** Whole lines of a file, with their place. */
export interface Lines {
  readonly offset: number;
  /** They end with a line end. */
  readonly bytes: Buffer;
}

/**
 * Reads the lines of a range, some at a time.
 *
 * @throws Error when the range ends within a line
 */
export function* readLines(
  descriptor: number,
  { offset, length }: LineRange = { offset: 0, length: Infinity },
): Generator<Lines, void, undefined> {
  const end = offset + length;
  let rest: Buffer = Buffer.alloc(0);
  for (let at = offset; at < end;) {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, end - at));
    const count = readSync(descriptor, chunk, 0, chunk.length, at);
    if (count === 0) break;
    const bytes = Buffer.concat([rest, chunk.subarray(0, count)]);
    const whole = bytes.lastIndexOf(LINE_END) + 1;
    if (whole > 0) yield { offset: at - rest.length, bytes: bytes.subarray(0, whole) };
    rest = bytes.subarray(whole);
    at += count;
  }
  if (rest.length > 0) throw new Error('the last line of the edits has no end');
}

/** The places of single lines, with their line ends. */
export function* lineRanges({ offset, bytes }: Lines): Generator<LineRange, void, undefined> {
  for (let from = 0; from < bytes.length;) {
    const to = bytes.indexOf(LINE_END, from) + 1;
    yield { offset: offset + from, length: to - from };
    from = to;
  }
}
