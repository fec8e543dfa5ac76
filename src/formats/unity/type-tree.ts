/** A field of a type tree: how the bytes of an object are divided. */
export interface TypeTree {
  /** The name of the type in C++ or C#, such as `string`, `SInt64`, `vector` or `PPtr<MonoScript>`. */
  readonly type: string;
  readonly name: string;
  /** Bytes of a value; -1 where they vary. Only the one of a leaf with an unknown type is used. */
  readonly byteSize: number;
  /** After the value, the position is rounded up to a multiple of 4. */
  readonly aligned: boolean;
  readonly children: readonly TypeTree[];
}

/** The class ids that this reader knows. */
export const CLASS_IDS = { textAsset: 49, monoBehaviour: 114, monoScript: 115 } as const;

/** The bit of a node's meta flags that means {@link TypeTree.aligned}. */
export const ALIGN_FLAG = 0x4000;

/** A node in a list in which each node stands before its children, one level deeper. */
export interface FlatTypeTreeNode extends Omit<TypeTree, 'children'> {
  readonly level: number;
}

/** Nests a list of nodes. @returns the tree, or what is wrong with the list */
export function nestTypeTree(nodes: readonly FlatTypeTreeNode[], depth: number): TypeTree | string {
  /** The children of the last node of each level. */
  const open: TypeTree[][] = [];
  let root: TypeTree | null = null;
  for (const [index, { level, ...node }] of nodes.entries()) {
    if (level > depth) return `type tree node ${index} is deeper than ${depth} levels`;
    // A second root, or a level without a parent, is a tree that refers to itself or to nothing.
    if (level > open.length || (level === 0) !== (index === 0)) {
      return `type tree node ${index} of level ${level} has no parent`;
    }
    const children: TypeTree[] = [];
    const tree: TypeTree = { ...node, children };
    open[level - 1]?.push(tree);
    open.length = level;
    open.push(children);
    root ??= tree;
  }
  return root ?? 'the type tree has no nodes';
}

/** The layouts that are the same in every supported version of Unity, for files without type trees. */
export function builtinTypeTree(classId: number): TypeTree | null {
  return TREES.get(classId) ?? null;
}

/** The fields that every MonoBehaviour begins with; those of its script follow. */
export const MONO_BEHAVIOUR_HEAD: TypeTree = tree('MonoBehaviour', 'Base', [
  reference('m_GameObject'),
  { ...tree('UInt8', 'm_Enabled'), aligned: true },
  reference('m_Script'),
  tree('string', 'm_Name'),
]);

/** The first fields of a MonoScript, which names a C# class. */
export const MONO_SCRIPT_HEAD: TypeTree = tree('MonoScript', 'Base', [
  tree('string', 'm_Name'),
  tree('int', 'm_ExecutionOrder'),
  { ...tree('Hash128', 'm_PropertiesHash'), byteSize: 16 },
  tree('string', 'm_ClassName'),
  tree('string', 'm_Namespace'),
]);

const TREES: ReadonlyMap<number, TypeTree> = new Map([
  [CLASS_IDS.textAsset, tree('TextAsset', 'Base', [tree('string', 'm_Name'), tree('string', 'm_Script')])],
]);

function reference(name: string): TypeTree {
  return tree('PPtr<Object>', name, [tree('int', 'm_FileID'), tree('SInt64', 'm_PathID')]);
}

function tree(type: string, name: string, children: readonly TypeTree[] = []): TypeTree {
  return { type, name, byteSize: -1, aligned: false, children };
}
