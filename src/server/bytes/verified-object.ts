import {
  BLOCK_DIGEST_BYTES,
  BLOCK_SIZE,
  blockCount,
  blockSpan,
  hasBlockList,
} from '../../domain/release/blocks.ts';
import type { ManifestEntry } from '../../domain/release/manifest.ts';
import { damageKindOf } from '../../domain/verdict/damage-kind.ts';
import type { HashPool } from '../../platform/hashing/digests.ts';
import { sameIdentity, type FileIdentity, type OpenObject } from '../../snapshot/objects/object-reader.ts';
import type { BlockCache } from './block-cache.ts';
import { ByteFault, byteFaultOf } from './byte-fault.ts';
import type { CdnMetrics } from './cdn-metrics.ts';
import type { ObjectSource } from './object-source.ts';
import type { ReadBuffers } from './read-buffers.ts';
import type { VerifiedBlocks, VerifiedMemory } from './verified-memory.ts';

/** The collaborators that all objects of one reader share. */
export interface VerifiedObjectOptions {
  readonly source: ObjectSource;
  readonly pool: Pick<HashPool, 'hashBlock'>;
  readonly memory: VerifiedMemory;
  readonly cache: BlockCache;
  readonly buffers: ReadBuffers;
  readonly metrics: CdnMetrics;
}

/** Bytes inside one block. */
export interface BlockSpan {
  readonly block: number;
  /** First byte, relative to the object. */
  readonly start: number;
  /** One past the last byte. */
  readonly end: number;
}

/** A block that is being loaded, and the number of readers that wait for it. */
interface LoadingBlock {
  readonly bytes: Promise<Buffer>;
  readers: number;
}

/**
 * An open object that returns only verified bytes.
 *
 * The first read of a block hashes it and returns exactly the bytes that were hashed. A block stays verified while the
 * file is in the same state; a later read checks that state after reading. If the state of the file has changed, its
 * blocks are verified again: the change may be harmless (its last name was removed, or its owner was set), and only the
 * bytes tell.
 */
export class VerifiedObject {
  readonly #options: VerifiedObjectOptions;
  readonly #entry: ManifestEntry;
  readonly #object: OpenObject;
  readonly #loading = new Map<number, LoadingBlock>();
  #verified: VerifiedBlocks;
  #blockList: Promise<Uint8Array> | null = null;
  #asking: Promise<FileIdentity> | null = null;

  /** @param object open, of the size that the entry states; this takes it over */
  constructor(options: VerifiedObjectOptions, entry: ManifestEntry, object: OpenObject) {
    this.#options = options;
    this.#entry = entry;
    this.#object = object;
    this.#verified = options.memory.recall(entry.blake3, object.identity, blockCount(entry.size));
  }

  /**
   * Reads verified bytes. The caller must not change them, because they may be shared. They are in memory of the
   * `buffers`; the caller gives them back after their last use.
   *
   * @param span inside one block of the object, not empty
   * @param keep whether the whole block should be kept in memory
   * @throws ByteFault `missing` or `damaged` when the bytes on the volume do not match the manifest
   */
  async read(span: BlockSpan, keep: boolean): Promise<Buffer> {
    const { cache, buffers, metrics } = this.#options;
    const { block, start, end } = span;
    const offset = blockSpan(block, this.#entry.size).start;
    const cached = cache.get(this.#entry.blake3, block, start - offset, end - offset);
    if (cached !== undefined) {
      metrics.cacheHits.add(1);
      return cached;
    }
    metrics.cacheMisses.add(1);
    const verified = this.#verified;
    if (!keep && verified.has(block)) {
      const bytes = await this.#readAgain(start, buffers.take(end - start), verified);
      if (bytes !== null) return bytes;
    }
    return await this.#load(block, (whole) => {
      if (keep) cache.put(this.#entry.blake3, block, whole);
      // A view keeps its whole block in memory until the client has taken its bytes; a small range is worth a copy.
      return keep || (end - start) * 2 > whole.length
        ? buffers.share(whole, start - offset, end - offset)
        : Buffer.from(whole.subarray(start - offset, end - offset));
    });
  }

  /** Closes the descriptor. */
  async close(): Promise<void> {
    await this.#object.close();
  }

  /**
   * Loads one whole verified block; concurrent readers of the block share one read.
   *
   * @param use takes the bytes that it needs from the block, whose memory is reused afterwards
   */
  async #load<T>(block: number, use: (whole: Buffer) => T): Promise<T> {
    const loading = this.#loading.get(block) ?? { bytes: this.#loadAndForget(block), readers: 0 };
    this.#loading.set(block, loading);
    loading.readers += 1;
    // No reader joins after the load, so the last reader is known then. After a failure there is nothing to give back.
    const whole = await loading.bytes;
    const used = use(whole);
    loading.readers -= 1;
    if (loading.readers === 0) this.#options.buffers.giveBack(whole);
    return used;
  }

  async #loadAndForget(block: number): Promise<Buffer> {
    try {
      return await this.#readBlock(block);
    } finally {
      this.#loading.delete(block);
    }
  }

  async #readBlock(block: number): Promise<Buffer> {
    const { start, end } = blockSpan(block, this.#entry.size);
    const verified = this.#verified;
    if (verified.has(block)) {
      const memory = this.#options.buffers.takeExactly(end - start);
      const bytes = await this.#readAgain(start, memory, verified);
      if (bytes !== null) return bytes;
    }
    return await this.#hashBlock(block);
  }

  /** Fills `memory` with bytes that were verified before; gives it back if the file has changed since. */
  async #readAgain(start: number, memory: Buffer, verified: VerifiedBlocks): Promise<Buffer | null> {
    const bytes = await this.#guard(this.#options.source.read(this.#object.fd, start, memory));
    if (bytes.length < memory.length) throw this.#endedEarly();
    if (await this.#isUnchanged(verified)) return memory;
    this.#options.buffers.giveBack(memory);
    return null;
  }

  async #hashBlock(block: number): Promise<Buffer> {
    const { buffers, pool, metrics } = this.#options;
    const { start, end } = blockSpan(block, this.#entry.size);
    const verified = this.#verified;
    const expected = await this.#expectedDigest(block);
    const { bytes, blake3 } = await this.#guard(pool.hashBlock(this.#object.fd, start, end));
    if (bytes.length !== end - start) throw this.#endedEarly();
    if (!expected.equals(blake3)) {
      throw new ByteFault(
        damageKindOf('digest_mismatch'),
        `bytes ${start} to ${end - 1} of object ${this.#entry.blake3} do not match the digest in the manifest`,
      );
    }
    metrics.verifiedBlocks.add(1);
    metrics.verifiedBytes.add(bytes.length);
    // These bytes are good in any case, but the next read may trust the file only if the file is unchanged.
    if (await this.#isUnchanged(verified)) verified.add(block);
    buffers.adopt(bytes);
    return bytes;
  }

  async #expectedDigest(block: number): Promise<Buffer> {
    if (!hasBlockList(this.#entry.size)) return Buffer.from(this.#entry.blake3, 'hex');
    this.#blockList ??= this.#options.source.blockList(this.#entry);
    let list: Uint8Array;
    try {
      list = await this.#blockList;
    } catch (error) {
      this.#blockList = null;
      throw byteFaultOf(error);
    }
    const start = block * BLOCK_DIGEST_BYTES;
    return Buffer.from(list.buffer, list.byteOffset + start, BLOCK_DIGEST_BYTES);
  }

  /** Whether the file is still in the state of `verified`; if not, forgets which blocks were verified. */
  async #isUnchanged(verified: VerifiedBlocks): Promise<boolean> {
    const { memory } = this.#options;
    const identity = this.#identityNow() ?? (await this.#identityFromNowOn());
    if (sameIdentity(identity, verified.identity)) return true;
    if (identity.size !== BigInt(this.#entry.size)) {
      throw new ByteFault(
        damageKindOf('size_mismatch'),
        `the size of object ${this.#entry.blake3} changed to ${identity.size} bytes; expected ${this.#entry.size}`,
      );
    }
    // Another reader may have detected the change before and already verified blocks of the new state.
    if (!sameIdentity(identity, this.#verified.identity)) {
      this.#verified = memory.recall(this.#entry.blake3, identity, blockCount(this.#entry.size));
    }
    return false;
  }

  #identityNow(): FileIdentity | null {
    try {
      return this.#options.source.identityNow(this.#object.fd, this.#object.identity.dev);
    } catch (error) {
      throw byteFaultOf(error);
    }
  }

  /** The state of the file at some instant after the call; callers in one turn of the event loop share one request. */
  #identityFromNowOn(): Promise<FileIdentity> {
    this.#asking ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#asking = null;
        resolve(this.#guard(this.#options.source.identity(this.#object.fd)));
      });
    });
    return this.#asking;
  }

  #endedEarly(): ByteFault {
    return new ByteFault(
      damageKindOf('size_mismatch'),
      `object ${this.#entry.blake3} is shorter than the ${this.#entry.size} bytes in the manifest`,
    );
  }

  async #guard<T>(operation: Promise<T>): Promise<T> {
    try {
      return await operation;
    } catch (error) {
      throw byteFaultOf(error);
    }
  }
}

/** Maximum number of bytes of one read: one block. */
export const READ_BYTES = BLOCK_SIZE;
