/** The nodes of the tree that shows a difference; pure. */

import type { TreeNode } from '../../components/tree-rows.ts';
import { bytes, count } from '../../text/format.ts';
import type { ChangedFolder, ChangedFolders, Totals } from './changed-folders.ts';
import type { FolderEntries } from './comparison.ts';
import { destinationOf, type EntryPair } from './merge-entries.ts';

/** A folder, a changed entry, or the place of those that are not loaded. */
export type DifferenceNode = TreeNode &
  (
    | { readonly kind: 'folder'; readonly folder: ChangedFolder }
    | { readonly kind: 'entry'; readonly pair: EntryPair }
    | { readonly kind: 'more'; readonly folder: ChangedFolder; readonly text: string }
  );

/** The node of a folder with changes. */
export function folderNode(folder: ChangedFolder): DifferenceNode {
  const name = folder.path.slice(folder.path.lastIndexOf('/', folder.path.length - 2) + 1);
  return { kind: 'folder', key: folder.path, name, hasChildren: true, folder };
}

/** The nodes in a folder: first its folders, then its entries. */
export function nodesIn(
  folder: ChangedFolder,
  folders: ChangedFolders,
  entries: FolderEntries | undefined,
): readonly DifferenceNode[] {
  const inner = folder.folders.flatMap((path) => {
    const found = folders.folder(path);
    return found === undefined ? [] : [folderNode(found)];
  });
  const pairs = (entries?.pairs ?? []).map((pair): DifferenceNode => {
    const destination = destinationOf(pair);
    // An entry and a folder never have the same key: that of a folder ends with a slash.
    return {
      kind: 'entry',
      key: destination,
      name: destination.slice(folder.path.length),
      hasChildren: false,
      pair,
    };
  });
  const rest = folder.files - pairs.length;
  if (rest <= 0) return [...inner, ...pairs];
  return [
    ...inner,
    ...pairs,
    {
      kind: 'more',
      key: `${folder.path} …`,
      name: '',
      hasChildren: false,
      folder,
      text: moreText(rest, entries),
    },
  ];
}

function moreText(rest: number, entries: FolderEntries | undefined): string {
  if (entries?.failure) return `${entries.failure.message} Try again`;
  return entries?.isLoading === true ? 'Loading …' : `Show more of ${count(rest)} changed files`;
}

/** By how much something grew: `+1.2 MiB`, `−3 B`, `±0 B`. */
export function growthText(growth: number): string {
  const sign = growth === 0 ? '±' : growth > 0 ? '+' : '−';
  return `${sign}${bytes(Math.abs(growth))}`;
}

/** The changes in words, for those who do not see the signs. */
export function totalsText({ added, changed, removed }: Totals): string {
  return `${count(added)} added, ${count(changed)} changed, ${count(removed)} removed`;
}
