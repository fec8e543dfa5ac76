import type { HashPool } from '../../platform/hashing/digests.ts';
import { readBlockList } from '../../snapshot/objects/block-list.ts';
import { openObject, sameIdentity, type FileIdentity } from '../../snapshot/objects/object-reader.ts';
import type { ObjectEntry } from './snapshot-trouble.ts';
import { errorCode } from '../../platform/files/error-code.ts';

/** The finding of one look at a damaged object. */
export interface Inspection {
  readonly sound: boolean;
  readonly kind: 'missing' | 'damaged';
  readonly message: string;
  /** The file that was hashed, for the next inspection of the same object; opaque to the caller. */
  readonly memory: unknown;
}

/**
 * Looks whether an object is sound.
 *
 * @param memory the `memory` of the last inspection, `null` on the first
 */
export type InspectObject = (entry: ObjectEntry, memory: unknown) => Promise<Inspection>;

interface Memory {
  readonly identity: FileIdentity;
  readonly objectSound: boolean;
}

/**
 * Makes the function that finds out whether a damaged object was repaired: a file that is not the one hashed before
 * is hashed in the pool; its block list is checked too, since ranges are verified against that.
 */
export function createObjectInspector({
  root,
  pool,
}: {
  readonly root: string;
  readonly pool: HashPool;
}): InspectObject {
  const inspectBytes = async (entry: ObjectEntry, memory: Memory | null): Promise<Memory> => {
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

  return async (entry, before) => {
    let memory: Memory;
    try {
      memory = await inspectBytes(entry, isMemory(before) ? before : null);
    } catch (error) {
      const message = `the object cannot be opened (${kindOf(error)})`;
      return { sound: false, kind: 'missing', message, memory: null };
    }
    if (!memory.objectSound) {
      const message = 'the bytes of the object do not match the digest in the manifest';
      return { sound: false, kind: 'damaged', message, memory };
    }
    try {
      if (entry.blocks !== undefined)
        await readBlockList({ root, entry: { ...entry, blocks: entry.blocks } });
    } catch (error) {
      const message = `the block list of the object is not usable (${kindOf(error)})`;
      return { sound: false, kind: 'damaged', message, memory };
    }
    return { sound: true, kind: 'damaged', message: '', memory };
  };
}

function isMemory(value: unknown): value is Memory {
  return typeof value === 'object' && value !== null && 'identity' in value && 'objectSound' in value;
}

function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  if ('kind' in error && typeof error.kind === 'string') return error.kind;
  return errorCode(error) ?? error.name;
}
