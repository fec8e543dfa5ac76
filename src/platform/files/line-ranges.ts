import { readSync } from 'node:fs';

export interface LineRange {
  readonly offset: number;
  readonly length: number;
}

const CHUNK_BYTES = 256 * 1024;
const LINE_END = 0x0a;

/** Whole lines of a file, with their place. */
interface Lines {
  readonly offset: number;
  /** They end with a line end. The bytes are valid until the next lines are read. */
  readonly bytes: Buffer;
}

/** Reads the lines of a range, some at a time. @throws Error when the range ends within a line */
export function* readLines(
  descriptor: number,
  { offset, length }: LineRange = { offset: 0, length: Infinity },
): Generator<Lines, void, undefined> {
  const end = offset + length;
  let buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, length));
  // The beginning of a line, of which the end is not read yet.
  let rest = 0;
  for (let at = offset; at < end;) {
    // A line that is longer than the buffer.
    if (rest === buffer.length) buffer = Buffer.concat([buffer], 2 * buffer.length);
    const count = readSync(descriptor, buffer, rest, Math.min(buffer.length - rest, end - at), at);
    if (count === 0) break;
    const filled = rest + count;
    const whole = buffer.subarray(0, filled).lastIndexOf(LINE_END) + 1;
    if (whole > 0) yield { offset: at - rest, bytes: buffer.subarray(0, whole) };
    buffer.copyWithin(0, whole, filled);
    rest = filled - whole;
    at += count;
  }
  if (rest > 0) throw new Error('the last line has no end');
}
