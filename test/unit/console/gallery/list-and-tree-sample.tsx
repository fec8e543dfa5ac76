import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { EmptyState } from '../../../../src/console/components/text.tsx';
import { FilterBar } from '../../../../src/console/components/filter-bar.tsx';
import { Tree, type TreeNode } from '../../../../src/console/components/tree.tsx';
import { VirtualList } from '../../../../src/console/components/virtual-list.tsx';
import { VirtualTable } from '../../../../src/console/components/virtual-table.tsx';
import { count } from '../../../../src/console/text/format.ts';

/** A list of which one row is selected, a tree whose nodes load late, and lists without rows. */
export const listAndTreeSample = { title: 'Filters, list, tree and empty states', Body };

const LINES = 10_000;

function Body(): JSX.Element {
  return (
    <>
      <FilterBar
        label="Filter the sample"
        count="48 of 1,200"
        filters={[
          {
            kind: 'choice',
            name: 'state',
            label: 'State',
            options: [
              ['draft', 'Draft'],
              ['stale', 'Stale'],
            ],
          },
          { kind: 'text', name: 'path', label: 'Path', hint: 'Android/' },
          { kind: 'choice', name: 'format', label: 'Format', options: [['json', 'JSON']], isRare: true },
        ]}
      />
      <div class="columns">
        <ListSample />
        <TreeSample />
      </div>
      <EmptyState title="No translation tasks" actions={<a href="#/translate">Show all</a>}>
        A parse of the current release makes the tasks. It runs after every sync.
      </EmptyState>
      <VirtualTable
        label="Rows that load"
        columns={[
          {
            id: 'only',
            head: 'Rows that have not arrived',
            least: 200,
            grow: 1,
            narrow: 'title',
            cell: () => '',
          },
        ]}
        count={3}
        row={() => undefined}
        keyOf={String}
      />
    </>
  );
}

function ListSample(): JSX.Element {
  const [active, setActive] = useState<number | null>(0);
  return (
    <VirtualList
      label="Lines"
      count={LINES}
      row={(index) => index + 1}
      rowHeight={32}
      active={active}
      onActive={setActive}
    >
      {(line) => <span>{`Line ${count(line)}`}</span>}
    </VirtualList>
  );
}

function nodeOf(key: string, hasChildren: boolean): TreeNode {
  return { key, name: key.slice(key.lastIndexOf('/') + 1), hasChildren };
}

const ROOTS = [nodeOf('Android', true), nodeOf('MediaResources', true), nodeOf('catalog.json', false)];

function TreeSample(): JSX.Element {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set(['Android']));
  const toggle = ({ key }: TreeNode): void => {
    const next = new Set(open);
    if (!next.delete(key)) next.add(key);
    setOpen(next);
  };
  return (
    <Tree
      label="Files"
      roots={ROOTS}
      open={open}
      onToggle={toggle}
      childrenOf={({ key }) =>
        key === 'MediaResources'
          ? null
          : [nodeOf(`${key}/bundles`, key.length < 30), nodeOf(`${key}/TableBundle.zip`, false)]
      }
    >
      {({ name }) => <span>{name}</span>}
    </Tree>
  );
}
