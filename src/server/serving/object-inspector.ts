import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { ManifestEntry } from '../../domain/release/manifest.ts';
import type { HashPool } from '../../platform/hashing/digests.ts';
import { readBlockList } from '../../snapshot/objects/block-list.ts';
import { openObject, sameIdentity, type FileIdentity } from '../../snapshot/objects/object-reader.ts';
import type { Inspection } from './damage-book.ts';

/** What of a manifest entry an inspection needs. */
export type InspectedEntry = Pick<ManifestEntry, 'blake3' | 'size' | 'blocks'>;

/** What an inspection leaves for the next one. */
interface Memory {
  readonly identity: FileIdentity;
  readonly objectSound: boolean;
}

/** What {@link createObjectInspector} needs. */
export interface ObjectInspectorOptions {
  readonly root: string;
  readonly pool: HashPool;
  /** Size and block list digest of a digest that something served holds, `null` when nothing does. */
  readonly describe: (blake3: Blake3Hex) => InspectedEntry | null;
  /** Whether everything that may hold a digest was read. */
  readonly knowsAll: () => boolean;
}

/**
 * Makes the function that finds out whether a damaged object was repaired: a file that is not the one hashed before
 * is hashed in the pool; its block list is checked too, since ranges are verified against that.
 */
export function createObjectInspector({
  root,
  pool,
  describe,
  knowsAll,
}: ObjectInspectorOptions): (blake3: Blake3Hex, memory: unknown) => Promise<Inspection | null> {
  const inspectObject = async (entry: InspectedEntry, memory: Memory | null): Promise<Memory> => {
    const object = await openObject({ root, blake3: entry.blake3, size: entry.size });
    try {
      const { identity } = object;
      if (memory !== null && sameIdentity(memory.identity, identity)) return memory;
      const { blake3 } = await pool.hashContent(object.fd, { blocks: false });
      return { identity, objectSound: blake3 === entry.blake3 };
    } finally {
      await object.close();
    }
  };

  return async (blake3, memory) => {
    const entry = describe(blake3);
    if (entry === null)
      return knowsAll() ? { sound: true, kind: 'missing', message: '', memory: null } : null;
    let found: Memory;
    try {
      found = await inspectObject(entry, isMemory(memory) ? memory : null);
    } catch (error) {
      return {
        sound: false,
        kind: 'missing',
        message: `the object cannot be opened (${kindOf(error)})`,
        memory: null,
      };
    }
    if (!found.objectSound) {
      return {
        sound: false,
        kind: 'damaged',
        message: 'the bytes of the object do not have the digest of the manifest',
        memory: found,
      };
    }
    try {
      if (entry.blocks !== undefined)
        await readBlockList({ root, entry: { ...entry, blocks: entry.blocks } });
    } catch (error) {
      return {
        sound: false,
        kind: 'damaged',
        message: `the block list of the object is not usable (${kindOf(error)})`,
        memory: found,
      };
    }
    return { sound: true, kind: 'damaged', message: '', memory: found };
  };
}

function isMemory(value: unknown): value is Memory {
  return typeof value === 'object' && value !== null && 'identity' in value && 'objectSound' in value;
}

function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  if ('kind' in error && typeof error.kind === 'string') return error.kind;
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
