import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { isNarrow } from './narrow.ts';
import { flatten, keyTarget, type TreeNode, type TreeRow } from './tree-rows.ts';
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
  /** Opens a node or closes it. */
  readonly onToggle: (node: N) => void;
  /** Enter on a node without children, or a click on it. */
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
