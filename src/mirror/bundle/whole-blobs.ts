import type { Descriptor } from '../../contract/formats/bundle-format.ts';
import { BUNDLE_PACK_BYTES } from '../../contract/formats/bundle-format.ts';
import type { BlobReader } from './blob-reader.ts';

/** Blobs in memory at the same time: the one that is read, and the one that follows it. */
const MAX_BLOBS = 2;
/** How often a blob is fetched whole before its ranges are asked for one by one. */
const ATTEMPTS = 3;
/** Bytes handed on at a time. */
const PIECE_BYTES = 512 * 1024;

interface WholeBlobs extends BlobReader {
  /**
   * Replaces the blobs that are fetched whole, and forgets those in memory.
   *
   * @param wanted how many bytes of each will be asked for, by digest; a blob is forgotten once all of them were read
   */
  want(wanted: ReadonlyMap<string, number>): void;
}

/**
 * Makes a reader over another one. A blob is handed on while it arrives. Memory holds at most two blobs of the size of a pack;
 * a larger blob, and one that is asked for while two others are read, is read range by range.
 */
export function createWholeBlobs(ranges: BlobReader): WholeBlobs {
  let wanted = new Map<string, { bytes: number; attempts: number }>();
  const arriving = new Map<string, ArrivingBlob>();

  const forget = (digest: string): void => {
    arriving.get(digest)?.end();
    arriving.delete(digest);
  };

  const blobFor = (blob: Descriptor, signal: AbortSignal): ArrivingBlob | null => {
    const order = wanted.get(blob.digest);
    if (order === undefined) return null;
    const held = arriving.get(blob.digest);
    if (held?.hasFailed === false) return held;
    if (order.attempts === 0 || blob.size > BUNDLE_PACK_BYTES) return null;
    if (held === undefined && arriving.size >= MAX_BLOBS) {
      const [idle] = [...arriving].find(([, { readers }]) => readers === 0) ?? [];
      if (idle === undefined) return null;
      forget(idle);
      wanted.delete(idle);
    }
    order.attempts -= 1;
    const next = new ArrivingBlob(ranges, blob, signal);
    arriving.set(blob.digest, next);
    return next;
  };

  return {
    label: ranges.label,
    want: (orders) => {
      for (const digest of arriving.keys()) forget(digest);
      wanted = new Map([...orders].map(([digest, bytes]) => [digest, { bytes, attempts: ATTEMPTS }]));
    },
    read: async function* read(blob, start, end, signal) {
      const held = blobFor(blob, signal);
      if (held === null) {
        yield* ranges.read(blob, start, end, signal);
        return;
      }
      yield* held.read(start, end, signal);
      const order = wanted.get(blob.digest);
      if (order === undefined) return;
      order.bytes -= end - start;
      if (order.bytes > 0 || held.readers > 0) return;
      wanted.delete(blob.digest);
      forget(blob.digest);
    },
  };
}

class ArrivingBlob {
  readers = 0;
  hasFailed = false;
  readonly #bytes: Buffer;
  readonly #ended = new AbortController();
  #received = 0;
  #failure: unknown = null;
  #change = Promise.withResolvers<void>();

  constructor(reader: BlobReader, blob: Descriptor, signal: AbortSignal) {
    this.#bytes = Buffer.allocUnsafeSlow(blob.size);
    void this.#receive(reader.read(blob, 0, blob.size, AbortSignal.any([signal, this.#ended.signal])));
  }

  end(): void {
    this.#ended.abort();
  }

  /** The bytes `[start, end)`, piece by piece, as soon as they are here. Throws what stopped the blob on its way. */
  async *read(start: number, end: number, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    this.readers += 1;
    try {
      for (let at = start; at < end;) {
        const until = Math.min(end, at + PIECE_BYTES);
        while (this.#received < until) {
          if (this.hasFailed) throw this.#failure;
          await this.#change.promise;
          signal.throwIfAborted();
        }
        // A copy, because the pieces belong to the reader.
        yield new Uint8Array(this.#bytes.subarray(at, until));
        at = until;
      }
    } finally {
      this.readers -= 1;
    }
  }

  async #receive(pieces: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const piece of pieces) {
        this.#bytes.set(piece, this.#received);
        this.#received += piece.length;
        this.#tell();
      }
    } catch (error) {
      this.#failure = error;
      this.hasFailed = true;
      this.#tell();
    }
  }

  #tell(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}
