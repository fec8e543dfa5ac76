import type { Descriptor } from '../../contract/formats/bundle-format.ts';
import { BundleError } from './bundle-error.ts';

/** Blobs in memory at the same time: the one that is read, and the one that follows it. */
const MAX_BLOBS = 2;
/** Bytes handed on at a time. */
const PIECE_BYTES = 512 * 1024;

/** Begins to fetch a whole blob, until the signal is aborted. */
type OpenWhole = (signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;

/** The blobs that are in memory, whole or on their way. */
export class ArrivingBlobs {
  readonly #blobs = new Map<string, ArrivingBlob>();
  #change = Promise.withResolvers<void>();

  /** Takes the blob with this digest for one reader, who releases it, unless it failed. */
  take(digest: string): ArrivingBlob | null {
    const held = this.#blobs.get(digest);
    if (held === undefined || held.hasFailed) return null;
    held.readers += 1;
    return held;
  }

  /**
   * Makes room for a blob: one that nobody reads is forgotten.
   *
   * @param onForgotten told which one
   * @returns whether there is room
   */
  makeRoomFor(digest: string, onForgotten: (digest: string) => void): boolean {
    if (this.#blobs.has(digest) || this.#blobs.size < MAX_BLOBS) return true;
    const [idle] = [...this.#blobs].find(([, { readers }]) => readers === 0) ?? [];
    if (idle === undefined) return false;
    this.forget(idle);
    onForgotten(idle);
    return true;
  }

  /** Begins to fetch a blob for one reader, who releases it. */
  add(blob: Descriptor, open: OpenWhole, signal: AbortSignal): ArrivingBlob {
    const held = new ArrivingBlob(blob, open, signal);
    this.#blobs.set(blob.digest, held);
    return held;
  }

  forget(digest: string): void {
    this.#blobs.get(digest)?.end();
    this.#blobs.delete(digest);
    this.#tell();
  }

  forgetAll(): void {
    for (const digest of this.#blobs.keys()) this.forget(digest);
  }

  /** Resolves once there may be room again. */
  async changed(): Promise<void> {
    await this.#change.promise;
  }

  /** Tells that a reader no longer reads. */
  release(held: ArrivingBlob): void {
    held.readers -= 1;
    this.#tell();
  }

  #tell(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}

/** A blob that is handed on while it arrives. */
export class ArrivingBlob {
  /** Counted from when it is chosen: a reader begins later, and it must not make room until then. */
  readers = 1;
  hasFailed = false;
  readonly #bytes: Buffer;
  readonly #ended = new AbortController();
  #received = 0;
  #failure: unknown = null;
  #change = Promise.withResolvers<void>();

  constructor(blob: Descriptor, open: OpenWhole, signal: AbortSignal) {
    this.#bytes = Buffer.allocUnsafeSlow(blob.size);
    void this.#receive(open, AbortSignal.any([signal, this.#ended.signal]));
  }

  end(): void {
    this.#ended.abort();
  }

  /** The bytes `[start, end)`, piece by piece, as soon as they are here. Throws what stopped the blob on its way. */
  async *read(start: number, end: number, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
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
  }

  async #receive(open: OpenWhole, signal: AbortSignal): Promise<void> {
    try {
      for await (const piece of await open(signal)) {
        signal.throwIfAborted();
        if (this.#received + piece.length > this.#bytes.length)
          throw new BundleError(`a blob has more than the stated ${this.#bytes.length} bytes`);
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
