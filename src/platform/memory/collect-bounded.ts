/**
 * Reads a stream whole, but no more of it than allowed.
 *
 * @throws the error of `tooLarge`; the errors of the stream unchanged
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
