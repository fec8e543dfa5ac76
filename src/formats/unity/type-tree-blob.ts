import { UNITY_COMMON_STRINGS } from './common-strings.ts';
import { FormatError } from '../format-error.ts';
import type { MetadataCursor } from './metadata-cursor.ts';
import { ALIGN_FLAG, type FlatTypeTreeNode, nestTypeTree, type TypeTree } from './type-tree.ts';

const COMMON_NAMES: ReadonlyMap<number, string> = new Map(
  [...UNITY_COMMON_STRINGS].map(([name, offset]) => [offset, name]),
);
/** Set where a name stands in the common table instead of the tree's own. */
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
export function readTypeTreeBlob(
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
