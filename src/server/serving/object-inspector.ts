import { damageKindOf, type DamageKind, type ObjectDamage } from '../../domain/verdict/damage-kind.ts';
import type { HashPool } from '../../platform/hashing/digests.ts';
import { readBlockList, type VerifiedPart } from '../../snapshot/objects/block-list.ts';
import { objectDamageOf } from '../../snapshot/objects/object-fault.ts';
import { openObject, sameIdentity, type FileIdentity } from '../../snapshot/objects/object-reader.ts';

interface Inspection {
  readonly sound: boolean;
  readonly kind: DamageKind;
  readonly message: string;
  /** The file that was hashed, for the next inspection of the same object; opaque to the caller. */
  readonly memory: unknown;
}

/**
 * Checks whether an object is sound.
 *
 * @param memory the `memory` of the last inspection, `null` on the first
 * @returns `null` when the attempt failed for a reason that says nothing about the object
 */
export type InspectObject = (entry: VerifiedPart, memory: unknown) => Promise<Inspection | null>;

interface Memory {
  readonly identity: FileIdentity;
  readonly found: ObjectDamage | null;
}

/**
 * Makes the function that checks whether a damaged object was repaired. It hashes a file in the pool, unless the same
 * file was hashed before. It also checks the block list, because ranges are verified against it.
 */
export function createObjectInspector({ root, pool }: { root: string; pool: HashPool }): InspectObject {
  const inspectBytes = async (entry: VerifiedPart, memory: Memory | null): Promise<Memory> => {
    const object = await openObject({ root, blake3: entry.blake3, size: entry.size });
    try {
      const { identity } = object;
      if (memory !== null && sameIdentity(memory.identity, identity)) return memory;
      // Readers get the copy in the page cache, the next start the one on the disk: both must be sound.
      for (const fromDisk of [true, false]) {
        const { size, blake3 } = await pool.hashContent(object.fd, { blocks: false, fromDisk });
        if (size !== entry.size) return { identity, found: 'size_mismatch' };
        if (blake3 !== entry.blake3) return { identity, found: 'digest_mismatch' };
      }
      return { identity, found: null };
    } finally {
      await object.close();
    }
  };

  return async (entry, before) => {
    let memory: Memory;
    try {
      memory = await inspectBytes(entry, isMemory(before) ? before : null);
    } catch (error) {
      const damage = objectDamageOf(error);
      if (damage === null) return null;
      const message = `the object cannot be read (${damage})`;
      return { sound: false, kind: damageKindOf(damage), message, memory: null };
    }
    if (memory.found !== null) {
      const message =
        memory.found === 'size_mismatch'
          ? 'the object has another size than the manifest says'
          : 'the bytes of the object do not match the digest in the manifest';
      return { sound: false, kind: damageKindOf(memory.found), message, memory };
    }
    try {
      if (entry.blocks !== undefined) await readBlockList(root, entry);
    } catch (error) {
      const damage = objectDamageOf(error);
      if (damage === null) return null;
      const message = `the block list of the object is not usable (${damage})`;
      return { sound: false, kind: damageKindOf(damage), message, memory };
    }
    return { sound: true, kind: 'damaged', message: '', memory };
  };
}

function isMemory(value: unknown): value is Memory {
  return typeof value === 'object' && value !== null && 'identity' in value && 'found' in value;
}
