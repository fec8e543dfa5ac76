import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { isNarrow } from './narrow.ts';
import { VirtualRows } from './virtual-rows.tsx';

/** Pixels. Fingers need higher rows, and a narrow page has less room for levels. */
const WIDE = { rowHeight: 30, indent: 20 };
const NARROW = { rowHeight: 40, indent: 12 };

interface TreeProps<N extends TreeNode> {
  readonly label: string;
  readonly roots: readonly N[];
  /** The children of an open node, `null` until they have arrived. */
  readonly childrenOf: (node: N) => readonly N[] | null;
  readonly open: ReadonlySet<string>;
  readonly onToggle: (node: N) => void;
  readonly onPick?: (node: N) => void;
  readonly children: (node: N) => ComponentChildren;
}

/**
 * A tree of any size, whose nodes get their children when they are opened.
 *
 * Source of the keys: the tree view pattern of the ARIA Authoring Practices Guide (W3C).
 */
export function Tree<N extends TreeNode>(props: TreeProps<N>): JSX.Element {
  const { label, roots, childrenOf, open, onToggle, onPick, children } = props;
  const isSmall = isNarrow();
  const { rowHeight, indent } = isSmall ? NARROW : WIDE;
  const [activeKey, setActive] = useState<string | null>(null);
  const rows = flatten(roots, open, childrenOf);
  const found = rows.findIndex(({ key }) => key === activeKey);
  const act = ({ node }: TreeRow<N>): void => {
    if (node === null) return;
    if (node.hasChildren) onToggle(node);
    else onPick?.(node);
  };
  const onKey = ({ key }: KeyboardEvent): boolean => {
    const target = keyTarget(rows, found, key, open);
    const row = rows[target === 'toggle' ? found : (target ?? -1)];
    if (row === undefined) return false;
    if (target === 'toggle') act(row);
    else setActive(row.key);
    return true;
  };
  return (
    <VirtualRows
      role="tree"
      label={label}
      class="tree"
      count={rows.length}
      rowHeight={rowHeight}
      wraps={isSmall}
      active={found === -1 ? null : found}
      onActive={(index) => setActive(rows[index]?.key ?? null)}
      onKey={onKey}
    >
      {(index, id) => {
        const row = rows[index] as TreeRow<N>;
        return (
          <div
            role="treeitem"
            id={id}
            class={`virtual-row${index === found ? ' active' : ''}`}
            style={{ paddingInlineStart: `${8 + (row.level - 1) * indent}px` }}
            aria-level={row.level}
            aria-posinset={row.position}
            aria-setsize={row.siblings}
            aria-selected={index === found}
            {...(row.node?.hasChildren === true ? { 'aria-expanded': open.has(row.key) } : {})}
            onClick={() => {
              setActive(row.key);
              act(row);
            }}
          >
            <span class={row.node?.hasChildren === true ? 'twist' : 'twist leaf'} aria-hidden="true" />
            <span class="node">
              {row.node === null ? <span class="muted">Loading …</span> : children(row.node)}
            </span>
          </div>
        );
      }}
    </VirtualRows>
  );
}

export interface TreeNode {
  /** Unique in the tree. */
  readonly key: string;
  /** Readers type its beginning to find it. */
  readonly name: string;
  readonly hasChildren: boolean;
}

interface TreeRow<N> {
  readonly key: string;
  /** `null` in the place of children that have not arrived. */
  readonly node: N | null;
  /** 1 at the root. */
  readonly level: number;
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
