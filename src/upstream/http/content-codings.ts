import { pipeline } from 'node:stream/promises';
import type { Duplex } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib';

/** Largest window of zstd over HTTP, as a power of two. Source: RFC 9659, section 3. */
const ZSTD_WINDOW_LOG = 23;

const DECODERS: ReadonlyMap<string, () => Duplex> = new Map<string, () => Duplex>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
  ['zstd', () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } })],
]);

export function canDecode(coding: string): boolean {
  return DECODERS.has(coding);
}

/** Whether an error of {@link decodeBody} is one of the decoder: the bytes are not in the coding that was named. */
export function isDecoderError(error: unknown): boolean {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return code !== undefined && /^(?:Z_|ZSTD_|ERR__ERROR_|ERR_BROTLI_)/.test(code);
}

/** Whether it is that the bytes end too early, which no decoder takes for their end. */
export function isDecoderEnd(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === 'Z_BUF_ERROR';
}

/**
 * Decodes a body, but no more of it than one byte beyond a size: that byte says that it is larger.
 *
 * @param coding one that {@link canDecode}
 * @param maxBytes the size
 * @throws the errors of the body unchanged, and those of the decoder
 */
export async function* decodeBody(
  chunks: AsyncIterable<Uint8Array>,
  coding: string,
  maxBytes: number,
): AsyncGenerator<Uint8Array, void> {
  const create = DECODERS.get(coding);
  if (create === undefined) throw new Error(`there is no decoder for ${coding}`);
  const decoder = create();
  const feeding = pipeline(chunks, decoder).catch(() => undefined); // the reader below gets the same error
  let left = maxBytes + 1;
  try {
    for await (const piece of decoder as AsyncIterable<Uint8Array>) {
      // A copy, because the decoder keeps its buffers and chunks belong to the reader.
      const taken = new Uint8Array(piece.subarray(0, left));
      left -= taken.length;
      yield taken;
      if (left === 0) return;
    }
  } finally {
    decoder.destroy();
    await feeding;
  }
}
