import { BLOCK_DIGEST_BYTES, blockCount, blockSpan } from '../../domain/release/blocks.ts';
import { damageKindOf } from '../../domain/verdict/damage-kind.ts';
import type { ByteSpan, HashPool } from '../../platform/hashing/digests.ts';
import { readBlockList } from '../../snapshot/objects/block-list.ts';
import {
  fileIdentity,
  openObject,
  sameIdentity,
  type OpenObject,
} from '../../snapshot/objects/object-reader.ts';
import { ByteFault, byteFaultOf } from '../bytes/byte-fault.ts';
import type { ScrubObject } from './scrub-order.ts';

export interface ScrubObjectOptions {
  readonly root: string;
  readonly pool: Pick<HashPool, 'hashContent'>;
  readonly signal: AbortSignal;
  /** Called after each read with the number of bytes hashed; the next read waits for it. */
  readonly pace: (bytes: number) => Promise<void>;
}

/**
 * Reads one object and compares it with its manifest as the byte path does: a small one as a whole, a large one block
 * by block with its block list, pausing in between, so that an object of any size is read evenly. A server-info document
 * has no block list in a manifest and is read as a whole; it is small.
 *
 * @throws ByteFault; the signal's reason
 */
export async function scrubObject(options: ScrubObjectOptions, object: ScrubObject): Promise<void> {
  const { signal } = options;
  for (let isLastTry = false; ; isLastTry = true) {
    let opened: OpenObject | null = null;
    try {
      opened = await openObject({ root: options.root, blake3: object.blake3, size: object.size });
      await compareBlocks(options, object, opened.fd);
      return;
    } catch (error) {
      signal.throwIfAborted();
      const fault = byteFaultOf(error);
      // A repair replaces the file: the bytes read from the old one do not count then.
      if (isLastTry || fault.kind === 'overloaded' || opened === null) throw fault;
      if (!(await wasReplaced(options.root, object, opened))) throw fault;
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
  const compare = async (span: ByteSpan, expected: string): Promise<void> => {
    const found = await pool.hashContent(fd, { blocks: false, span }, signal);
    const isWhole = found.size === span.end - span.start;
    if (!isWhole || found.blake3 !== expected) {
      const bytes = `bytes ${span.start} to ${span.end - 1} of object ${blake3}`;
      throw isWhole
        ? new ByteFault(damageKindOf('digest_mismatch'), `${bytes} do not match the digest in the manifest`)
        : new ByteFault(damageKindOf('size_mismatch'), `${bytes} are not all there`);
    }
    await pace(found.size);
  };
  if (blocks === undefined) {
    await compare({ start: 0, end: size }, blake3);
    return;
  }
  const list = Buffer.from(await readBlockList({ root, entry: { blake3, size, blocks } }));
  for (let block = 0; block < blockCount(size); block += 1) {
    const span = blockSpan(block, size);
    const expected = list.toString('hex', block * BLOCK_DIGEST_BYTES, (block + 1) * BLOCK_DIGEST_BYTES);
    await compare(span, expected);
  }
}

/** Whether the object was replaced by another file, or its file has changed, since it was read. */
async function wasReplaced(root: string, { blake3, size }: ScrubObject, read: OpenObject): Promise<boolean> {
  try {
    const now = await openObject({ root, blake3, size });
    await now.close();
    return (
      !sameIdentity(now.identity, read.identity) || !sameIdentity(await fileIdentity(read.fd), read.identity)
    );
  } catch {
    // The object cannot be opened: keep the finding.
    return false;
  }
}
