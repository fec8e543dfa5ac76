/** The rows of a tree and the effect of its keys; pure. */

/** A node of a tree. */
export interface TreeNode {
  /** Unique in the tree. */
  readonly key: string;
  /** Readers type its beginning to find it. */
  readonly name: string;
  readonly hasChildren: boolean;
}

/** A node as it is shown. */
export interface TreeRow<N> {
  readonly key: string;
  /** `null` in the place of children that have not arrived. */
  readonly node: N | null;
  /** 1 at the root. */
  readonly level: number;
  /** Among its siblings, from 1. */
  readonly position: number;
  readonly siblings: number;
}

/** Every visible node, from the top to the bottom. */
export function flatten<N extends TreeNode>(
  roots: readonly N[],
  open: ReadonlySet<string>,
  childrenOf: (node: N) => readonly N[] | null,
): ReadonlyArray<TreeRow<N>> {
  const rows: Array<TreeRow<N>> = [];
  const add = (nodes: readonly N[], level: number): void => {
    for (const [index, node] of nodes.entries()) {
      rows.push({ key: node.key, node, level, position: index + 1, siblings: nodes.length });
      if (!node.hasChildren || !open.has(node.key)) continue;
      const children = childrenOf(node);
      if (children !== null) add(children, level + 1);
      else rows.push({ key: `${node.key} …`, node: null, level: level + 1, position: 1, siblings: 1 });
    }
  };
  add(roots, 1);
  return rows;
}

/**
 * The effect of a key in a row.
 *
 * @param at the row, -1 for none
 * @returns the row to go to, `toggle` to open or close this one, `null` for a key without a meaning here
 */
export function keyTarget<N extends TreeNode>(
  rows: ReadonlyArray<TreeRow<N>>,
  at: number,
  key: string,
  open: ReadonlySet<string>,
): number | 'toggle' | null {
  const row = rows[at];
  const isCharacter = key.length === 1 && key !== ' ';
  if (row === undefined) return isCharacter ? typedTarget(rows, at, key) : null;
  if (row.node === null) return null;
  const isOpen = row.node.hasChildren && open.has(row.key);
  if (key === 'Enter') return 'toggle';
  if (key === 'ArrowRight') {
    if (!row.node.hasChildren) return null;
    return isOpen ? at + 1 : 'toggle';
  }
  if (key === 'ArrowLeft') {
    if (isOpen) return 'toggle';
    const parent = rows.findLastIndex(({ level }, index) => index < at && level < row.level);
    return parent === -1 ? null : parent;
  }
  return isCharacter ? typedTarget(rows, at, key) : null;
}

/** The next row whose name begins with a character. */
function typedTarget<N extends TreeNode>(
  rows: ReadonlyArray<TreeRow<N>>,
  at: number,
  typed: string,
): number | null {
  const wished = typed.toLowerCase();
  const isWished = ({ node }: TreeRow<N>): boolean => node?.name.toLowerCase().startsWith(wished) === true;
  const below = rows.findIndex((row, index) => index > at && isWished(row));
  const found = below === -1 ? rows.findIndex(isWished) : below;
  return found === -1 ? null : found;
}
