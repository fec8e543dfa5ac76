import type { Descriptor } from '../../contract/formats/bundle-format.ts';
import { ArrivingBlobs, type ArrivingBlob } from './arriving-blobs.ts';
import { BUNDLE_PACK_BYTES } from '../../contract/formats/bundle-format.ts';
import type { BlobReader } from './blob-reader.ts';
import { BundleError } from './bundle-error.ts';

/** How often a blob is fetched whole before its ranges are asked for one by one. */
const ATTEMPTS = 3;
/** Bytes of a blob on their way. One of `chunks` and `discard` is used. */
export interface OpenedBlob {
  /** Whether the whole blob comes, also when only a part was asked for. */
  readonly isWhole: boolean;
  readonly chunks: AsyncGenerator<Uint8Array, void>;
  discard(): void;
}

interface BlobSource {
  readonly label: string;
  /** Asks for the bytes `[start, end)` of a blob. */
  open(blob: Descriptor, start: number, end: number, signal: AbortSignal): Promise<OpenedBlob>;
}

interface WholeBlobs extends BlobReader {
  /**
   * Replaces the blobs that are fetched whole, and forgets those in memory.
   *
   * @param wanted how many bytes of each will be asked for, by digest; a blob is forgotten once all of them were read
   */
  want(wanted: ReadonlyMap<string, number>): void;
  /** Fetches a blob again when it is asked for next, because its bytes were wrong. */
  forget(digest: string): void;
}

/**
 * Makes a reader of blobs. Wanted ones are fetched whole and handed on while they arrive; others are read range by range. Once a range
 * was not honoured, each blob is fetched whole and kept for what is read of it next. Memory holds at most two blobs of the size of a pack.
 */
export function createWholeBlobs(source: BlobSource): WholeBlobs {
  let wanted = new Map<string, { bytes: number; attempts: number }>();
  const arriving = new ArrivingBlobs();
  let ignoresRanges = false;

  const makeRoomFor = ({ digest }: Descriptor): boolean =>
    arriving.makeRoomFor(digest, (forgotten) => void wanted.delete(forgotten));

  const fetchWhole = (blob: Descriptor, signal: AbortSignal): ArrivingBlob =>
    arriving.add(blob, async (own) => (await source.open(blob, 0, blob.size, own)).chunks, signal);

  const wantedBlob = (blob: Descriptor, signal: AbortSignal): ArrivingBlob | null => {
    const held = arriving.take(blob.digest);
    if (held !== null) return held;
    const order = wanted.get(blob.digest);
    if (order === undefined || order.attempts === 0 || blob.size > BUNDLE_PACK_BYTES) return null;
    if (!makeRoomFor(blob)) return null;
    order.attempts -= 1;
    return fetchWhole(blob, signal);
  };

  /** A blob of a source that ignores ranges: fetched once for all that is read of it, also when it has to wait for room. */
  const keptBlob = async (blob: Descriptor, signal: AbortSignal): Promise<ArrivingBlob> => {
    for (;;) {
      signal.throwIfAborted();
      const held = arriving.take(blob.digest);
      if (held !== null) return held;
      if (makeRoomFor(blob)) return fetchWhole(blob, signal);
      // Whoever reads one of the others ends, also when the task does.
      await arriving.changed();
    }
  };

  /** Reads a range. @returns the blob that arrives whole instead */
  async function* readRange(
    blob: Descriptor,
    start: number,
    end: number,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array, ArrivingBlob | null> {
    const isPart = start > 0 || end < blob.size;
    const opened = await source.open(blob, start, end, signal);
    if (isPart) ignoresRanges = opened.isWhole;
    if (!isPart || !opened.isWhole || blob.size > BUNDLE_PACK_BYTES) {
      yield* sliceOf(opened, { start, end, label: source.label, digest: blob.digest });
      return null;
    }
    const held = arriving.take(blob.digest);
    if (held === null && makeRoomFor(blob)) return arriving.add(blob, async () => opened.chunks, signal);
    opened.discard();
    return held ?? (await keptBlob(blob, signal));
  }

  const countRead = (digest: string, bytes: number, held: ArrivingBlob): void => {
    const order = wanted.get(digest);
    if (order === undefined) return;
    order.bytes -= bytes;
    if (order.bytes > 0 || held.readers > 0) return;
    wanted.delete(digest);
    arriving.forget(digest);
  };

  return {
    label: source.label,
    want: (orders) => {
      arriving.forgetAll();
      wanted = new Map([...orders].map(([digest, bytes]) => [digest, { bytes, attempts: ATTEMPTS }]));
    },
    forget: (digest) => arriving.forget(digest),
    read: async function* read(blob, start, end, signal) {
      if (start === end) return;
      const isKept = ignoresRanges && (start > 0 || end < blob.size) && blob.size <= BUNDLE_PACK_BYTES;
      const held =
        wantedBlob(blob, signal) ??
        (isKept ? await keptBlob(blob, signal) : yield* readRange(blob, start, end, signal));
      if (held === null) return;
      try {
        yield* held.read(start, end, signal);
      } finally {
        arriving.release(held);
      }
      countRead(blob.digest, end - start, held);
    },
  };
}

async function* sliceOf(
  opened: OpenedBlob,
  want: { readonly start: number; readonly end: number; readonly label: string; readonly digest: string },
): AsyncGenerator<Uint8Array, void> {
  const { start, end } = want;
  let at = opened.isWhole ? 0 : start;
  for await (const chunk of opened.chunks) {
    const piece = chunk.subarray(Math.max(0, start - at), Math.max(0, end - at));
    at += chunk.length;
    if (piece.length > 0) yield piece;
    if (at >= end) return;
  }
  throw new BundleError(`${want.label}: the blob ${want.digest} ended at ${at} instead of ${end}`);
}
