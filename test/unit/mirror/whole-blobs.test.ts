import { describe, expect, it } from 'vitest';
import { BUNDLE_PACK_BYTES, type Descriptor } from '../../../src/contract/formats/bundle-format.ts';
import type { BlobReader } from '../../../src/mirror/bundle/blob-reader.ts';
import { collect } from '../../support/collect.ts';
import { createWholeBlobs } from '../../../src/mirror/bundle/whole-blobs.ts';

const SIGNAL = new AbortController().signal;

function blob(name: string, size = 10): Descriptor {
  return { mediaType: 'pack', digest: name, size };
}

/** The bytes of a blob: the first is 0, the second 1. */
function bytesOf(start: number, end: number): Buffer {
  return Buffer.from(Array.from({ length: end - start }, (_, at) => (start + at) % 256));
}

/** A reader whose blobs arrive a byte at a time, and that notes what it was asked for. */
function sourceOf({
  failAt = -1,
  pause = Promise.resolve(),
}: { failAt?: number; pause?: Promise<void> } = {}): {
  readonly asked: string[];
  readonly reader: BlobReader;
} {
  const asked: string[] = [];
  return {
    asked,
    reader: {
      label: 'source',
      async *read({ digest, size }, start, end, signal) {
        const isWhole = start === 0 && end === size;
        asked.push(isWhole ? digest : `${digest} ${start}-${end}`);
        for (let at = start; at < end; at += 1) {
          if (isWhole && at === failAt) throw new Error('reset');
          if (at === start + 5) await pause;
          signal.throwIfAborted();
          yield bytesOf(at, at + 1);
        }
      },
    },
  };
}

async function read(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await collect(pieces));
}

describe('blobs of which most is missing', () => {
  it('are fetched once for all of their objects, which are handed on while the blob arrives', async () => {
    const rest = Promise.withResolvers<void>();
    const { asked, reader } = sourceOf({ pause: rest.promise });
    const blobs = createWholeBlobs(reader);
    blobs.want(new Map([['a', 9]]));
    const last = read(blobs.read(blob('a'), 6, 9, SIGNAL));
    expect(await read(blobs.read(blob('a'), 0, 3, SIGNAL))).toEqual(bytesOf(0, 3));
    rest.resolve();
    expect(await last).toEqual(bytesOf(6, 9));
    expect(await read(blobs.read(blob('a'), 3, 6, SIGNAL))).toEqual(bytesOf(3, 6));
    expect(asked).toEqual(['a']);
    // Everything that was wanted of it was read, so it is no longer in memory.
    expect(await read(blobs.read(blob('a'), 1, 2, SIGNAL))).toEqual(bytesOf(1, 2));
    expect(asked).toEqual(['a', 'a 1-2']);
  });

  it('are not fetched whole when nobody said so, or when they are larger than a pack', async () => {
    const { asked, reader } = sourceOf();
    const blobs = createWholeBlobs(reader);
    blobs.want(new Map([['large', 9]]));
    await read(blobs.read(blob('b'), 2, 4, SIGNAL));
    await read(blobs.read(blob('large', BUNDLE_PACK_BYTES + 1), 2, 4, SIGNAL));
    expect(asked).toEqual(['b 2-4', 'large 2-4']);
  });

  it('never take more memory than two of them', async () => {
    const rest = Promise.withResolvers<void>();
    const { asked, reader } = sourceOf({ pause: rest.promise });
    const blobs = createWholeBlobs(reader);
    blobs.want(new Map(['a', 'b', 'c', 'd'].map((name) => [name, 100])));
    const reading = ['a', 'b'].map(async (name) => await read(blobs.read(blob(name), 6, 9, SIGNAL)));
    expect(await read(blobs.read(blob('c'), 1, 2, SIGNAL))).toEqual(bytesOf(1, 2));
    expect(asked).toEqual(['a', 'b', 'c 1-2']);
    rest.resolve();
    await Promise.all(reading);
    // Nobody reads the first one now, and it makes room.
    expect(await read(blobs.read(blob('d'), 1, 2, SIGNAL))).toEqual(bytesOf(1, 2));
    expect(await read(blobs.read(blob('a'), 1, 2, SIGNAL))).toEqual(bytesOf(1, 2));
    expect(asked.slice(3)).toEqual(['d', 'a 1-2']);
  });

  it('are tried three times, and then read range by range', async () => {
    const { asked, reader } = sourceOf({ failAt: 4 });
    const blobs = createWholeBlobs(reader);
    blobs.want(new Map([['a', 100]]));
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await expect(read(blobs.read(blob('a'), 3, 6, SIGNAL))).rejects.toThrow('reset');
    }
    expect(await read(blobs.read(blob('a'), 3, 6, SIGNAL))).toEqual(bytesOf(3, 6));
    expect(asked).toEqual(['a', 'a', 'a', 'a 3-6']);
  });

  it('stop arriving when the reader is stopped, or something else is wanted', async () => {
    const stop = new AbortController();
    const first = Promise.withResolvers<void>();
    const { reader } = sourceOf({ pause: first.promise });
    const blobs = createWholeBlobs(reader);
    blobs.want(new Map([['a', 100]]));
    const stopped = read(blobs.read(blob('a'), 6, 9, stop.signal));
    stop.abort(new Error('stopped'));
    first.resolve();
    await expect(stopped).rejects.toThrow('stopped');
    const second = Promise.withResolvers<void>();
    const other = createWholeBlobs(sourceOf({ pause: second.promise }).reader);
    other.want(new Map([['a', 100]]));
    const replaced = read(other.read(blob('a'), 6, 9, SIGNAL));
    other.want(new Map());
    second.resolve();
    await expect(replaced).rejects.toThrow();
  });
});
