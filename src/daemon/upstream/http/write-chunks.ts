import type { FileHandle } from 'node:fs/promises';

/**
 * Writes chunks one behind the other, however many calls the system needs for it.
 *
 * @param position where the first byte goes
 * @returns bytes written
 * @throws the file system error, `code` kept
 */
export async function writeChunks(
  handle: FileHandle,
  chunks: readonly Uint8Array[],
  position: number,
): Promise<number> {
  let rest = chunks;
  let written = 0;
  while (rest.length > 0) {
    const { bytesWritten } = await handle.writev(rest, position + written);
    written += bytesWritten;
    rest = dropBytes(rest, bytesWritten);
  }
  return written;
}

function dropBytes(chunks: readonly Uint8Array[], count: number): readonly Uint8Array[] {
  let left = count;
  for (const [index, chunk] of chunks.entries()) {
    if (left < chunk.length) return [chunk.subarray(left), ...chunks.slice(index + 1)];
    left -= chunk.length;
  }
  return [];
}
