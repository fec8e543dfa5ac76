/**
 * Frees the memory of a received chunk immediately, if nothing else shares it. Left to the garbage collector, a release would
 * keep it busy: chunks are small objects with large memory outside of its heap.
 *
 * @param chunk belongs to the caller and is not used again; it is empty afterwards or as it was
 */
export function releaseChunk(chunk: Uint8Array): void {
  const { buffer } = chunk;
  if (buffer instanceof ArrayBuffer && chunk.byteLength > 0 && chunk.byteLength === buffer.byteLength) {
    buffer.transfer(0);
  }
}
