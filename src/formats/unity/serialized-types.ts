import { FormatError } from '../format-error.ts';
import type { ReadLimits } from '../value-visitor.ts';
import type { MetadataCursor } from './metadata-cursor.ts';
import { readTypeTreeBlob } from './type-tree-blob.ts';
import type { TypeTree } from './type-tree.ts';

export interface SerializedType {
  readonly classId: number;
  /** 32 hexadecimal digits that identify the script of a MonoBehaviour; else `null`. */
  readonly scriptHash: string | null;
  /** `null` where the file was built without type trees. */
  readonly tree: TypeTree | null;
}

/** The class ids that this reader knows. */
export const CLASS_IDS = { textAsset: 49, monoBehaviour: 114, monoScript: 115 } as const;

const HASH_BYTES = 16;
/** The first version with types that only managed references use. */
export const REFERENCE_TYPES_SINCE = 20;
/** From this version on a type names the types that it depends on, and a reference type its class. */
const DEPENDENCIES_SINCE = 21;
/** Class, "stripped" and index of the script. */
const SMALLEST_TYPE = 4 + 1 + 2 + HASH_BYTES;

interface TypeTable {
  readonly version: number;
  readonly hasTrees: boolean;
  readonly limits: ReadLimits;
}

/** Reads a table of types. @throws FormatError `serialized_invalid` or `typetree_invalid` */
export function readTypes(
  cursor: MetadataCursor,
  table: TypeTable,
  areReferences: boolean,
): readonly SerializedType[] {
  const count = cursor.count(SMALLEST_TYPE, table.limits.elements);
  return Array.from({ length: count }, () => readType(cursor, table, areReferences));
}

function readType(cursor: MetadataCursor, table: TypeTable, isReference: boolean): SerializedType {
  const classId = cursor.int32();
  cursor.uint8(); // Whether the type was stripped for the player.
  const scriptIndex = cursor.int16();
  const hasScript = (isReference && scriptIndex >= 0) || classId === CLASS_IDS.monoBehaviour;
  const scriptHash = hasScript ? cursor.bytes(HASH_BYTES).toString('hex') : null;
  cursor.bytes(HASH_BYTES); // A hash over the type tree.
  if (!table.hasTrees) return { classId, scriptHash, tree: null };
  const tree = readTypeTreeBlob(cursor, table.version, table.limits);
  if (table.version >= DEPENDENCIES_SINCE) {
    if (isReference) {
      for (const _part of ['class', 'namespace', 'assembly']) cursor.terminatedString();
    } else {
      cursor.bytes(cursor.count(4, table.limits.elements) * 4);
    }
  }
  return { classId, scriptHash, tree };
}

/** Whether the first type of a file of version 23 has its tree in another file. */
export function hasExtractedTrees(cursor: MetadataCursor): boolean {
  try {
    if (cursor.count(SMALLEST_TYPE, Number.MAX_SAFE_INTEGER) === 0) return false;
    const classId = cursor.int32();
    cursor.bytes(3);
    cursor.bytes(classId === CLASS_IDS.monoBehaviour ? 2 * HASH_BYTES : HASH_BYTES);
    cursor.bytes(HASH_BYTES); // A hash over the extracted tree.
    return cursor.int32() === 0;
  } catch (error) {
    if (error instanceof FormatError) return false;
    throw error;
  }
}
