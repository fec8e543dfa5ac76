import type { ContentDigests, HashPool } from '../../platform/hashing/digests.ts';
import { readBlockList, type VerifiedPart } from './block-list.ts';
import { objectDamageOf } from './object-fault.ts';
import type { EntryStatus } from './object-ledger.ts';
import { openObject } from './object-reader.ts';

interface VerifyObjectOptions {
  readonly root: string;
  readonly part: VerifiedPart;
  readonly pool: HashPool;
  readonly signal?: AbortSignal | undefined;
  /** Also hash every block and compare with the block list. */
  readonly compareBlocks?: boolean;
  /** Also hash what the page cache has, which readers get; for an object that somebody found damaged. */
  readonly alsoCached?: boolean;
}

/**
 * Hashes one object as the disk has it and checks its block list.
 *
 * @throws the signal's reason; an error that says nothing of the object
 */
export async function verifyObject(options: VerifyObjectOptions): Promise<EntryStatus> {
  const { root, part, signal } = options;
  return await statusOf(signal, async () => {
    const list = await blockListOf(root, part);
    const compare = list !== null && options.compareBlocks === true;
    const found = await hashObject({ ...options, blocks: compare });
    if (found.size !== part.size) return 'size_mismatch';
    if (found.blake3 !== part.blake3) return 'digest_mismatch';
    return compare && (found.blocks === null || !list.equals(found.blocks)) ? 'digest_mismatch' : 'ok';
  });
}

/**
 * Hashes the bytes of one object, whatever its block list is. Where the disk and the page cache differ, the digests are
 * those of the copy that does not match the name.
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
  alsoCached = false,
}: VerifyObjectOptions & {
  readonly blocks: boolean;
}): Promise<ContentDigests> {
  const object = await openObject({ root, blake3, size });
  try {
    const found = await pool.hashContent(object.fd, { blocks, fromDisk: true }, signal);
    if (!alsoCached || found.blake3 !== blake3) return found;
    const cached = await pool.hashContent(object.fd, { blocks: false, fromDisk: false }, signal);
    return cached.blake3 === blake3 ? found : cached;
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

async function blockListOf(root: string, part: VerifiedPart): Promise<Buffer | null> {
  if (part.blocks === undefined) return null;
  return Buffer.from(await readBlockList(root, part));
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
