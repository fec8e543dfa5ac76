import { join } from 'node:path';
import type { Blake3Hex } from '../../../domain/release/digest.ts';
import { blake3Hex } from '../../../platform/hashing/blake3.ts';
import type { ContentDigests, HashPool } from '../../../platform/hashing/digests.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import { objectDamageOf } from '../../../snapshot/objects/object-fault.ts';
import { hashObject } from '../../../snapshot/objects/object-verifier.ts';
import type { SnapshotWriter } from '../../../snapshot/snapshot-writer.ts';
import type { TaskContext } from '../../tasks/task.ts';
import type { KnownObject } from '../records/entry-row.ts';
import type { ObjectRegistry } from '../records/object-registry.ts';

export interface IntactObjectDependencies {
  /** Root of the snapshot volume. */
  readonly root: string;
  readonly objects: Pick<ObjectRegistry, 'get' | 'confirm'>;
  readonly pool: HashPool;
  readonly writer: Pick<SnapshotWriter, 'restoreBlockList'>;
  readonly clock: Clock;
}

/**
 * Keeps an object that was found damaged, but whose bytes match its name: computes its block list from them, compares it
 * with the known digest of the list, and writes it again if it is lost or wrong.
 *
 * @returns whether the object is whole again
 * @throws the storage error, an error that says nothing of the object, or the signal's reason
 */
export async function restoreIntact(
  deps: IntactObjectDependencies,
  restore: {
    readonly blake3: Blake3Hex;
    /** A directory of the store. */
    readonly staging: string;
    readonly context: TaskContext;
    readonly signal: AbortSignal;
  },
): Promise<boolean> {
  const { blake3, staging, context, signal } = restore;
  const known = deps.objects.get(blake3);
  const digests = known === null ? null : await hashIntact(deps, known, signal);
  if (digests === null) return false;
  const object = { stagedPath: join(staging, blake3), digests };
  const isWhole = await context.commit(async () => await deps.writer.restoreBlockList(object));
  if (isWhole) deps.objects.confirm(blake3, unixSeconds(deps.clock));
  return isWhole;
}

/** The digests of a stored object; `null` when its bytes, or the block list made of them, are not the known ones. */
async function hashIntact(
  { root, pool }: Pick<IntactObjectDependencies, 'root' | 'pool'>,
  { blake3, size, blocks }: KnownObject,
  signal: AbortSignal,
): Promise<ContentDigests | null> {
  try {
    const found = await hashObject({ root, part: { blake3, size }, pool, signal, blocks: true });
    const list = found.blocks === null ? null : blake3Hex(found.blocks);
    return found.blake3 === blake3 && found.size === size && list === blocks ? found : null;
  } catch (error) {
    signal.throwIfAborted();
    if (objectDamageOf(error) === null) throw error;
    return null;
  }
}
