import { readableOr, FormatError } from '../format-error.ts';
import type { ReadLimits } from '../value-visitor.ts';
import type { MetadataCursor } from './metadata-cursor.ts';
import type { ReferenceName } from './object-cursor.ts';
import { type TypeTree, ALIGN_FLAG, CLASS_IDS, type FlatTypeTreeNode, nestTypeTree } from './type-tree.ts';
import { UNITY_COMMON_STRINGS } from './common-strings.ts';

export interface SerializedType {
  readonly classId: number;
  /** 32 hexadecimal digits that identify the script of a MonoBehaviour; else `null`. */
  readonly scriptHash: string | null;
  /** `null` where the file was built without type trees. */
  readonly tree: TypeTree | null;
  /** The C# type that managed references name; `null` for the type of objects, and where the file does not say it. */
  readonly reference: ReferenceName | null;
}

const TYPE_HASH_BYTES = 16;
/** The first version with types that only managed references use. */
export const REFERENCE_TYPES_SINCE = 20;
/** From this version on a type names the types that it depends on, and a reference type its class. */
const DEPENDENCIES_SINCE = 21;
/** Class, "stripped" and index of the script. */
const SMALLEST_TYPE = 4 + 1 + 2 + TYPE_HASH_BYTES;

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
  const scriptHash = hasScript ? cursor.bytes(TYPE_HASH_BYTES).toString('hex') : null;
  cursor.bytes(TYPE_HASH_BYTES); // A hash over the type tree.
  if (!table.hasTrees) return { classId, scriptHash, tree: null, reference: null };
  const tree = readTypeTreeBlob(cursor, table.version, table.limits);
  if (table.version < DEPENDENCIES_SINCE) return { classId, scriptHash, tree, reference: null };
  if (!isReference) {
    cursor.bytes(cursor.count(4, table.limits.elements) * 4);
    return { classId, scriptHash, tree, reference: null };
  }
  const className = cursor.terminatedString();
  const namespace = cursor.terminatedString();
  const assembly = cursor.terminatedString();
  return { classId, scriptHash, tree, reference: { className, namespace, assembly } };
}

/** Whether the first type of a file of version 23 has its tree in another file. */
export function hasExtractedTrees(cursor: MetadataCursor): boolean {
  return readableOr(false, () => {
    if (cursor.count(SMALLEST_TYPE, Number.MAX_SAFE_INTEGER) === 0) return false;
    const classId = cursor.int32();
    cursor.bytes(3);
    cursor.bytes(classId === CLASS_IDS.monoBehaviour ? 2 * TYPE_HASH_BYTES : TYPE_HASH_BYTES);
    cursor.bytes(TYPE_HASH_BYTES); // A hash over the extracted tree.
    return cursor.int32() === 0;
  });
}

const COMMON_NAMES: ReadonlyMap<number, string> = new Map(
  [...UNITY_COMMON_STRINGS].map(([name, offset]) => [offset, name]),
);
/** Set when a name is in the common table instead of the tree's own. */
const COMMON_BIT = 0x8000_0000;
const NODE_BYTES = 24;
/** The version of the serialized file from which each node ends with a 64-bit hash. */
const HASHED_SINCE = 19;
const HASH_BYTES = 8;

/**
 * Reads a type tree in its binary form: the counts, the nodes and their names.
 *
 * @throws FormatError `typetree_invalid`; `serialized_invalid` where the tree does not fit into the metadata
 */
function readTypeTreeBlob(
  cursor: MetadataCursor,
  version: number,
  limits: { readonly depth: number; readonly elements: number },
): TypeTree {
  const start = cursor.filePosition;
  const nodeBytes = NODE_BYTES + (version >= HASHED_SINCE ? HASH_BYTES : 0);
  const count = cursor.count(nodeBytes, limits.elements);
  const nameBytes = cursor.uint32();
  const nodesAt = cursor.position;
  cursor.bytes(count * nodeBytes);
  const names = cursor.bytes(nameBytes);
  const end = cursor.position;
  cursor.position = nodesAt;
  const nodes: FlatTypeTreeNode[] = [];
  for (let index = 0; index < count; index += 1) {
    nodes.push(readNode(cursor, names));
    cursor.position = nodesAt + (index + 1) * nodeBytes;
  }
  cursor.position = end;
  const tree = nestTypeTree(nodes, limits.depth);
  if (typeof tree === 'string') throw new FormatError('typetree_invalid', tree, start);
  return tree;
}

function readNode(cursor: MetadataCursor, names: Buffer): FlatTypeTreeNode {
  cursor.uint16(); // The version of the type.
  const level = cursor.uint8();
  cursor.uint8(); // Flags of the type, which its name says too.
  const type = nameAt(cursor, names);
  const name = nameAt(cursor, names);
  const byteSize = cursor.int32();
  cursor.int32(); // The index of the node.
  return { level, type, name, byteSize, aligned: (cursor.int32() & ALIGN_FLAG) !== 0 };
}

function nameAt(cursor: MetadataCursor, names: Buffer): string {
  const at = cursor.filePosition;
  const reference = cursor.uint32();
  if (reference >= COMMON_BIT) {
    const offset = reference - COMMON_BIT;
    // A later version of Unity may have appended names.
    return COMMON_NAMES.get(offset) ?? `common name ${offset}`;
  }
  const end = reference < names.length ? names.indexOf(0, reference) : -1;
  if (end < 0) throw new FormatError('typetree_invalid', `there is no name at ${reference}`, at);
  return names.toString('utf8', reference, end);
}
