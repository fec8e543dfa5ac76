import { readSync } from 'node:fs';

/** A range of bytes of a file that is whole lines. */
export interface LineRange {
  readonly offset: number;
  readonly length: number;
}

/** Bytes that are read at a time. */
const CHUNK_BYTES = 256 * 1024;
const LINE_END = 0x0a;

/** Reads the lines of a file one after the other, each with its place. Its length includes the line end. */
export function* readLine(
  descriptor: number,
  { offset, length }: LineRange = { offset: 0, length: Infinity },
): Generator<LineRange & { readonly text: string }, void, undefined> {
  const end = offset + length;
  let rest: Buffer = Buffer.alloc(0);
  let start = offset;
  for (let at = offset; at < end;) {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, end - at));
    const count = readSync(descriptor, chunk, 0, chunk.length, at);
    if (count === 0) break;
    at += count;
    const bytes = Buffer.concat([rest, chunk.subarray(0, count)]);
    let from = 0;
    for (let to = bytes.indexOf(LINE_END); to !== -1; to = bytes.indexOf(LINE_END, from)) {
      yield { text: bytes.toString('utf8', from, to), offset: start + from, length: to + 1 - from };
      from = to + 1;
    }
    rest = bytes.subarray(from);
    start += from;
  }
  if (rest.length > 0) throw new Error('the last line of the edits has no end');
}

/** The texts of the lines of a range. */
export function* readLines(descriptor: number, range: LineRange): Generator<string, void, undefined> {
  for (const { text } of readLine(descriptor, range)) yield text;
}
