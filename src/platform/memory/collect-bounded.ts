/**
 * Reads a stream whole, but no more of it than allowed.
 *
 * @param tooLarge makes what is thrown past `maxBytes`; called before the stream is let go
 * @throws what `tooLarge` makes; the errors of the stream as they are
 */
export async function collectBounded(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
  tooLarge: () => Error,
): Promise<Buffer> {
  const collected: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge();
    collected.push(chunk);
  }
  return Buffer.concat(collected, size);
}
