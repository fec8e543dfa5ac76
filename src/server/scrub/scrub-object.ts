import { BLOCK_BYTES, BLOCK_DIGEST_BYTES } from '../../domain/release/blocks.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import { damageKindOf } from '../../domain/verdict/damage-kind.ts';
import type { ByteSpan, HashPool } from '../../platform/hashing/digests.ts';
import { readBlockList } from '../../snapshot/objects/block-list.ts';
import { openObject, wasReplaced, type OpenObject } from '../../snapshot/objects/object-reader.ts';
import { ByteFault, byteFaultOf } from '../bytes/byte-fault.ts';
import type { ScrubObject } from './scrub-order.ts';

/** Bytes of a large object between two pauses; whole blocks. */
const PIECE_BYTES = 16 * BLOCK_BYTES;

interface ScrubObjectOptions {
  readonly root: string;
  readonly pool: HashPool;
  readonly signal: AbortSignal;
  /** Called after each read with the number of bytes hashed; the next read waits for it. */
  readonly pace: (bytes: number) => Promise<void>;
}

/**
 * Reads one object and compares it with its manifest as the byte path does: a small one as a whole, a large one
 * in pieces with its block list, pausing in between, so that an object of any size is read evenly. It reads the disk past
 * the page cache where the file system allows that. A server-info document has no block list in a manifest and is read as a
 * whole; it is small.
 *
 * @throws ByteFault; the signal's reason
 */
export async function scrubObject(options: ScrubObjectOptions, object: ScrubObject): Promise<void> {
  const { root, signal } = options;
  const place = { root, blake3: object.blake3, size: object.size };
  for (let isLastTry = false; ; isLastTry = true) {
    let opened: OpenObject | null = null;
    try {
      opened = await openObject(place);
      await compareBlocks(options, object, opened.fd);
      return;
    } catch (error) {
      signal.throwIfAborted();
      const fault = byteFaultOf(error);
      // A repair replaces the file: the bytes read from the old one do not count then.
      if (isLastTry || fault.kind === 'overloaded' || opened === null) throw fault;
      if (!(await wasReplaced(place, opened))) throw fault;
    } finally {
      await opened?.close();
    }
  }
}

async function compareBlocks(
  { root, pool, signal, pace }: ScrubObjectOptions,
  { blake3, size, blocks }: ScrubObject,
  fd: number,
): Promise<void> {
  if (blocks === undefined) {
    const found = await pool.hashContent(fd, { blocks: false, fromDisk: true }, signal);
    if (found.size !== size) throw notAllThere(blake3, { start: 0, end: size });
    if (found.blake3 !== blake3) throw otherBytes(blake3, { start: 0, end: size });
    await pace(size);
    return;
  }
  const list = await readBlockList(root, { blake3, size, blocks });
  for (let start = 0; start < size; start += PIECE_BYTES) {
    const span = { start, end: Math.min(start + PIECE_BYTES, size) };
    const found = await pool.hashBlocks(fd, span, signal);
    if (found.size !== span.end - start) throw notAllThere(blake3, span);
    const first = (start / BLOCK_BYTES) * BLOCK_DIGEST_BYTES;
    if (!Buffer.from(found.digests).equals(list.subarray(first, first + found.digests.length)))
      throw otherBytes(blake3, span);
    await pace(found.size);
  }
}

function notAllThere(blake3: Blake3Hex, { start, end }: ByteSpan): ByteFault {
  return new ByteFault(
    damageKindOf('size_mismatch'),
    `bytes ${start} to ${end - 1} of object ${blake3} are not all there`,
  );
}

function otherBytes(blake3: Blake3Hex, { start, end }: ByteSpan): ByteFault {
  return new ByteFault(
    damageKindOf('digest_mismatch'),
    `bytes ${start} to ${end - 1} of object ${blake3} do not match the digest in the manifest`,
  );
}
