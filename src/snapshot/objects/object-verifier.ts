import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { ContentDigests, HashPool } from '../../platform/hashing/digests.ts';
import { readBlockList } from './block-list.ts';
import { objectDamageOf } from './object-fault.ts';
import type { EntryStatus } from './object-ledger.ts';
import { openObject } from './object-reader.ts';

/** The object behind an entry. */
export interface VerifiedPart {
  readonly blake3: Blake3Hex;
  readonly size: number;
  /** BLAKE3 of its block list, exactly for large objects. */
  readonly blocks?: Blake3Hex | undefined;
}

export interface VerifyObjectOptions {
  readonly root: string;
  readonly part: VerifiedPart;
  readonly pool: HashPool;
  readonly signal?: AbortSignal | undefined;
  /** Also hash every block and compare with the block list. */
  readonly compareBlocks?: boolean;
}

/**
 * Hashes one object and checks its block list.
 *
 * @throws the signal's reason; an error that says nothing of the object
 */
export async function verifyObject(options: VerifyObjectOptions): Promise<EntryStatus> {
  const { root, part, pool, signal } = options;
  return await statusOf(signal, async () => {
    const list = await blockListOf(root, part);
    const compare = list !== null && options.compareBlocks === true;
    const found = await hashObject({ root, part, pool, signal, blocks: compare });
    if (found.size !== part.size) return 'size_mismatch';
    if (found.blake3 !== part.blake3) return 'digest_mismatch';
    return compare && (found.blocks === null || !list.equals(found.blocks)) ? 'digest_mismatch' : 'ok';
  });
}

/**
 * Hashes the bytes of one object, whatever its block list is.
 *
 * @param options.blocks whether to compute its block list, too
 * @throws ObjectFault when it cannot be opened as an object of its size; the file system error; the signal's reason
 */
export async function hashObject({
  root,
  part: { blake3, size },
  pool,
  signal,
  blocks,
}: Pick<VerifyObjectOptions, 'root' | 'part' | 'pool' | 'signal'> & {
  readonly blocks: boolean;
}): Promise<ContentDigests> {
  const object = await openObject({ root, blake3, size });
  try {
    return await pool.hashContent(object.fd, { blocks }, signal);
  } finally {
    await object.close();
  }
}

/** Checks the block list of a large object; the object itself is known. Throws an error that says nothing of it. */
export async function verifyBlockList(root: string, part: VerifiedPart): Promise<EntryStatus> {
  return await statusOf(undefined, async () => {
    await blockListOf(root, part);
    return 'ok';
  });
}

async function blockListOf(root: string, { blake3, size, blocks }: VerifiedPart): Promise<Buffer | null> {
  if (blocks === undefined) return null;
  return Buffer.from(await readBlockList({ root, entry: { blake3, size, blocks } }));
}

async function statusOf(
  signal: AbortSignal | undefined,
  look: () => Promise<EntryStatus>,
): Promise<EntryStatus> {
  try {
    return await look();
  } catch (error) {
    signal?.throwIfAborted();
    const damage = objectDamageOf(error);
    // A bug or a crashed worker must not pass as damage.
    if (damage === null) throw error;
    return damage;
  }
}
