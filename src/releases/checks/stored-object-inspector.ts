import { lstat } from 'node:fs/promises';
import { hasBlockList } from '../../domain/release/blocks.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import type { HashPool } from '../../platform/hashing/digests.ts';
import type { EntryStatus } from '../../snapshot/objects/object-ledger.ts';
import type { VerifiedPart } from '../../snapshot/objects/block-list.ts';
import { verifyObject } from '../../snapshot/objects/object-verifier.ts';
import { blockListPath, objectPath } from '../../snapshot/volume/layout.ts';
import { readStoreFormat } from '../../snapshot/volume/snapshot-store.ts';
import type { ObjectRegistry } from '../records/object-registry.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';

export interface StoredObjectInspector {
  /**
   * Hashes an object and checks its block list.
   *
   * @returns `null` when no kept release contains the object any longer
   * @throws the signal's reason; an error when the volume itself cannot be read, which says nothing about the object
   */
  inspect(blake3: Blake3Hex, signal: AbortSignal): Promise<EntryStatus | null>;
  /** A text that changes whenever the files of an object change. */
  stamp(blake3: Blake3Hex): Promise<string>;
}

export function createStoredObjectInspector({
  root,
  storeId,
  pool,
  objects,
  releases,
}: {
  readonly root: string;
  readonly storeId: string;
  readonly pool: HashPool;
  readonly objects: ObjectRegistry;
  readonly releases: ReleaseRepository;
}): StoredObjectInspector {
  const partOf = (blake3: Blake3Hex): VerifiedPart | null => {
    const [holder] = releases.holders(blake3);
    if (holder === undefined) return null;
    const known = objects.get(blake3);
    if (known !== null) {
      return known.blocks === null ? { blake3, size: known.size } : { ...known, blocks: known.blocks };
    }
    // The server-info document of an adopted release is not in a catalog.
    return holder.server_info_size === null ? null : { blake3, size: holder.server_info_size };
  };

  return {
    inspect: async (blake3, signal) => {
      const part = partOf(blake3);
      if (part === null) return null;
      const status = await verifyObject({ root, part, pool, signal, alsoCached: true });
      if (status === 'ok') return status;
      const { store_id: found } = await readStoreFormat(root);
      if (found !== storeId) throw new Error(`the volume holds another store (${found})`);
      return status;
    },
    stamp: async (blake3) => {
      const size = partOf(blake3)?.size ?? 0;
      const paths = [objectPath(root, blake3), ...(hasBlockList(size) ? [blockListPath(root, blake3)] : [])];
      return (await Promise.all(paths.map(stampOf))).join(' ');
    },
  };
}

async function stampOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await lstat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join('/');
  } catch (error) {
    return errorCode(error) ?? 'error';
  }
}
