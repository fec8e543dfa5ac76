/** Largest line of a watch: an object of etcd's limit (1.5 MiB), with room for JSON escapes. */
const LINE_MAX_BYTES = 4 * 1024 * 1024;
const NEWLINE = 0x0a;

/**
 * Splits a byte stream into lines, without the line ends; empty lines are skipped.
 *
 * @throws Error when a line exceeds 4 MiB
 */
export async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string, void, undefined> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      held.push(chunk.subarray(from, at));
      const line = Buffer.concat(held).toString('utf8');
      held = [];
      heldBytes = 0;
      from = at + 1;
      if (line.trim() !== '') yield line;
    }
    if (from < chunk.length) {
      held.push(chunk.subarray(from));
      heldBytes += chunk.length - from;
      if (heldBytes > LINE_MAX_BYTES) throw new Error(`a line of the watch exceeds ${LINE_MAX_BYTES} bytes`);
    }
  }
}
