import { BLOCK_DIGEST_BYTES, blockBytesOf, hasBlockList } from '../../domain/release/blocks.ts';
import type { ManifestEntry } from '../../domain/release/manifest.ts';
import { damageKindOf } from '../../domain/verdict/damage-kind.ts';
import { bufferOf } from '../../platform/buffer-of.ts';
import { createBlake3 } from '../../platform/hashing/blake3.ts';
import type { OpenObject } from '../../snapshot/objects/object-reader.ts';
import type { BlockCache } from './block-cache.ts';
import { ByteFault, byteFaultOf } from './byte-fault.ts';
import type { BytePathMetrics } from './byte-path-metrics.ts';
import { blocksAround, extentOf, extentSpan, type ObjectSpan } from './extents.ts';
import type { ObjectSource } from '../../snapshot/objects/object-source.ts';
import type { ReadBuffers } from './read-buffers.ts';

/** The collaborators that all objects of one reader share. */
export interface VerifiedObjectOptions {
  readonly source: ObjectSource;
  readonly cache: BlockCache;
  /** Keeps the block lists of open objects, each as extent 0. */
  readonly blockLists: BlockCache;
  readonly buffers: ReadBuffers;
  readonly metrics: BytePathMetrics;
}

/** How a request wants its bytes. */
export interface ReadOptions {
  /** Whether the whole extent should be kept in memory. */
  readonly keep: boolean;
  /** Whether the bytes must come from the volume, not from memory. */
  readonly fromVolume: boolean;
}

/** An extent that is being loaded, and the number of readers that wait for it. */
interface LoadingExtent {
  readonly bytes: Promise<Buffer>;
  readers: number;
}

const hasher = createBlake3();

/**
 * An open object that returns only verified bytes: every block that is read from the volume is hashed, each time, and
 * exactly the hashed bytes are returned. Nothing about the file is remembered instead, because bytes that rot on the
 * disk change neither its inode nor its size nor its times.
 */
export class VerifiedObject {
  readonly object: OpenObject;
  readonly #options: VerifiedObjectOptions;
  readonly #entry: ManifestEntry;
  readonly #loading = new Map<number, LoadingExtent>();
  #loadingList: Promise<Buffer> | null = null;

  /** @param object open, of the size that the entry states; this takes it over */
  constructor(options: VerifiedObjectOptions, entry: ManifestEntry, object: OpenObject) {
    this.#options = options;
    this.#entry = entry;
    this.object = object;
  }

  /**
   * Reads verified bytes. The caller must not change them, because they may be shared. They are a view of memory of the
   * `buffers`, which may be a whole extent; the caller gives them back after their last use.
   *
   * @param span inside one extent of the object, not empty
   * @throws ByteFault `missing` or `damaged` when the bytes on the volume do not match the manifest
   */
  async read(span: ObjectSpan, { keep, fromVolume }: ReadOptions): Promise<Buffer> {
    const { cache, metrics } = this.#options;
    const { blake3, size } = this.#entry;
    const extent = extentOf(span.start);
    const whole = extentSpan(extent, size);
    if (!fromVolume) {
      const cached = cache.get(blake3, extent, span.start - whole.start, span.end - whole.start);
      if (cached !== undefined) {
        metrics.cacheHits.add(1);
        return cached;
      }
      metrics.cacheMisses.add(1);
    }
    const blocks = keep ? whole : blocksAround(span, size);
    const isWhole = blocks.start === whole.start && blocks.end === whole.end;
    if (!isWhole || fromVolume) return this.#viewOf(span, blocks, await this.#readBlocks(blocks));
    return await this.#loadExtent(extent, whole, (bytes) => {
      if (keep) cache.put(blake3, extent, bytes);
      return this.#options.buffers.share(bytes, span.start - whole.start, span.end - whole.start);
    });
  }

  /** Closes the descriptor. */
  async close(): Promise<void> {
    await this.object.close();
  }

  /** Loads one extent; concurrent readers share one read. `use` takes what it needs of the bytes. */
  async #loadExtent(extent: number, span: ObjectSpan, use: (bytes: Buffer) => Buffer): Promise<Buffer> {
    let loading = this.#loading.get(extent);
    if (loading === undefined) {
      const bytes = this.#readBlocks(span).finally(() => this.#loading.delete(extent));
      loading = { bytes, readers: 0 };
      this.#loading.set(extent, loading);
    }
    loading.readers += 1;
    // No reader joins after the load, so the last reader is known then. After a failure there is nothing to give back.
    const bytes = await loading.bytes;
    const used = use(bytes);
    loading.readers -= 1;
    if (loading.readers === 0) this.#options.buffers.giveBack(bytes);
    return used;
  }

  /** The bytes of `span` out of those of `blocks`, which it gives back. */
  #viewOf(span: ObjectSpan, blocks: ObjectSpan, bytes: Buffer): Buffer {
    const view = this.#options.buffers.share(bytes, span.start - blocks.start, span.end - blocks.start);
    if (view !== bytes) this.#options.buffers.giveBack(bytes);
    return view;
  }

  /** Reads whole blocks and hashes them. */
  async #readBlocks({ start, end }: ObjectSpan): Promise<Buffer> {
    const { source, buffers, metrics } = this.#options;
    try {
      const expected = await this.#expectedDigests(start, end);
      const memory = buffers.take(end - start);
      try {
        const length = await source.read(this.object.fd, start, memory);
        if (length < memory.length) throw this.#endedEarly();
        this.#compare(memory, start, expected);
      } catch (error) {
        buffers.giveBack(memory);
        throw error;
      }
      metrics.verifiedBlocks.add(expected.length / BLOCK_DIGEST_BYTES);
      metrics.verifiedBytes.add(memory.length);
      return memory;
    } catch (error) {
      throw byteFaultOf(error);
    }
  }

  #compare(bytes: Buffer, start: number, expected: Buffer): void {
    const blockBytes = blockBytesOf(this.#entry.size);
    for (let at = 0, digest = 0; digest < expected.length; at += blockBytes, digest += BLOCK_DIGEST_BYTES) {
      const block = bytes.subarray(at, at + blockBytes);
      hasher.reset();
      hasher.update(block);
      if (hasher.digest().compare(expected, digest, digest + BLOCK_DIGEST_BYTES) === 0) continue;
      throw new ByteFault(
        damageKindOf('digest_mismatch'),
        `bytes ${start + at} to ${start + at + block.length - 1} of object ${this.#entry.blake3} do not match the digest in the manifest`,
      );
    }
  }

  /** The digests of whole blocks, one after the other. */
  async #expectedDigests(start: number, end: number): Promise<Buffer> {
    const { blake3, size } = this.#entry;
    if (!hasBlockList(size)) return Buffer.from(blake3, 'hex');
    const { blockLists } = this.#options;
    const list = blockLists.get(blake3, 0) ?? (await this.#loadBlockList());
    const digestsBefore = (position: number): number =>
      Math.ceil(position / blockBytesOf(size)) * BLOCK_DIGEST_BYTES;
    return list.subarray(digestsBefore(start), digestsBefore(end));
  }

  /** Loads the block list; concurrent readers share one read. */
  async #loadBlockList(): Promise<Buffer> {
    const { blockLists, source } = this.#options;
    this.#loadingList ??= source.blockList(this.#entry).then(bufferOf);
    try {
      const list = await this.#loadingList;
      blockLists.put(this.#entry.blake3, 0, list);
      return list;
    } finally {
      this.#loadingList = null;
    }
  }

  #endedEarly(): ByteFault {
    return new ByteFault(
      damageKindOf('size_mismatch'),
      `object ${this.#entry.blake3} is shorter than the ${this.#entry.size} bytes in the manifest`,
    );
  }
}
