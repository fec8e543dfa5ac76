import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiFailure } from '../api/api-client.ts';
import type { ReleaseRow, DistributionPage } from '../api/wire.ts';
import { Button } from '../components/controls.tsx';
import { FailureText } from '../components/text.tsx';
import { Tree, type TreeNode } from '../components/tree.tsx';
import { useApp, type App } from '../state/app.ts';
import { counted, count, textBytes } from '../text/format.ts';
import type { Totals, ChangedFolder, ChangedFolders } from './difference/changed-folders.ts';
import { type Comparison, startComparison, type FolderEntries } from './difference/comparison.ts';
import { type ReadEntries, destinationOf, type EntryPair } from './difference/entry-cursor.ts';
import { servingOf, type ReleaseStatus } from './release-facts.ts';

interface DifferenceProps {
  readonly left: ReleaseRow;
  readonly right: ReleaseRow;
  readonly status: ReleaseStatus | null;
}

/** The files that differ between two releases, folded to folders. */
export function Difference({ left, right, status }: DifferenceProps): JSX.Element {
  const unread = [left, right].filter((row) => servingOf(row, status) === 'none');
  if (status === null) return <p class="empty">Loading …</p>;
  if (unread.length > 0) {
    return (
      <p class="note idle">
        {`${unread.map(({ release_id: id }) => id).join(' and ')} cannot be compared: servers list the files of releases that they serve, and the attestation does not name ${unread.length === 1 ? 'this one' : 'these'}.`}
      </p>
    );
  }
  // Another pair is another comparison.
  const key = [left, right].map(({ channel, release_id: id }) => `${channel}/${id}`).join(' ');
  return <Compared key={key} left={left} right={right} />;
}

function Compared({ left, right }: Omit<DifferenceProps, 'status'>) {
  const control = useComparison(useApp(), left, right);
  const { comparison, start } = control;
  if (comparison === null) {
    const entries = (left.manifest?.entry_count ?? 0) + (right.manifest?.entry_count ?? 0);
    return (
      <p class="buttons">
        <Button class="primary" onClick={start}>{`Compare ${counted(entries, 'entry', 'entries')}`}</Button>
        <span class="muted">The browser reads both lists; this can take a minute.</span>
      </p>
    );
  }
  const { phase } = comparison.state.value;
  const { totals } = comparison.folders.root;
  const isSame = phase === 'done' && totals.added + totals.changed + totals.removed === 0;
  return (
    <div class="difference">
      <Progress comparison={comparison} control={control} />
      {isSame ? <p class="empty">Both releases have the same files.</p> : <Totalled totals={totals} />}
      {isSame ? null : <DifferenceTree comparison={comparison} />}
    </div>
  );
}

function Progress({ comparison, control }: { comparison: Comparison; control: ComparisonControl }) {
  const { phase, read, total, failure } = comparison.state.value;
  if (phase === 'done') return null;
  if (phase === 'failed' && failure !== null) {
    return (
      <div class="note bad" role="alert">
        <p>{failure instanceof ApiFailure ? <FailureText failure={failure} /> : failure.message}</p>
        <Button onClick={control.start}>Compare again</Button>
      </div>
    );
  }
  const amount = total === null ? '' : `${count(read)} of ${count(total)} entries`;
  if (phase === 'cancelled') {
    return (
      <p class="buttons">
        <span class="muted">{`Stopped after ${amount}. The changes so far:`}</span>
        <Button onClick={control.start}>Compare again</Button>
      </p>
    );
  }
  return (
    <div class="difference-progress">
      <progress
        aria-label="Progress of the comparison"
        {...(total === null ? {} : { max: total || 1, value: read })}
      />
      <span class="muted">{amount}</span>
      <Button onClick={comparison.cancel}>Stop</Button>
    </div>
  );
}

function Totalled({ totals }: { totals: Totals }) {
  return (
    <p>
      <Counts totals={totals} />
      <span class="muted">{` ${textBytes(totals.newBytes)} of new content, ${growthText(totals.growth)} in all`}</span>
    </p>
  );
}

function Counts({ totals }: { totals: Totals }) {
  const { added, changed, removed } = totals;
  return (
    <span class="changes">
      <span class="unseen">{totalsText(totals)}</span>
      <span aria-hidden="true">
        {added === 0 ? null : <span class="ok">{`+${count(added)} `}</span>}
        {changed === 0 ? null : <span class="info">{`~${count(changed)} `}</span>}
        {removed === 0 ? null : <span class="bad">{`−${count(removed)}`}</span>}
      </span>
    </span>
  );
}

function DifferenceTree({ comparison }: { comparison: Comparison }) {
  const { folders } = comparison;
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const { phase } = comparison.state.value;
  useEffect(() => {
    if (phase !== 'reading' && folders.root.files > 0) comparison.open(folders.root);
  }, [comparison, phase]);
  const roots = nodesIn(folders.root, folders, comparison.entries(''));
  const toggle = (node: DifferenceNode): void => {
    const next = new Set(open);
    if (next.delete(node.key)) comparison.close(node.key);
    else {
      next.add(node.key);
      // While lists are read, the end of the folder may not be known.
      if (node.kind === 'folder' && phase !== 'reading') comparison.open(node.folder);
    }
    setOpen(next);
  };
  return (
    <Tree
      label="Changed files"
      roots={roots}
      open={open}
      onToggle={toggle}
      onPick={(node) => {
        if (node.kind === 'more' && phase !== 'reading') comparison.open(node.folder);
      }}
      childrenOf={(node) =>
        node.kind === 'folder' ? nodesIn(node.folder, folders, comparison.entries(node.key)) : null
      }
    >
      {(node) => <NodeText node={node} />}
    </Tree>
  );
}

function NodeText({ node }: { node: DifferenceNode }) {
  if (node.kind === 'more') return <span class="link">{node.text}</span>;
  if (node.kind === 'folder') {
    const { totals } = node.folder;
    return (
      <>
        <span class="path">{folderNode(node.folder).name}</span>
        <Counts totals={totals} />
        <span class="muted number">{growthText(totals.growth)}</span>
      </>
    );
  }
  const { left, right } = node.pair;
  const [sign, tone, word] =
    left === null
      ? ['+', 'ok', 'added']
      : right === null
        ? ['−', 'bad', 'removed']
        : ['~', 'info', 'changed'];
  return (
    <>
      <span class="path">
        <span class={`change ${tone}`} aria-hidden="true">
          {sign}
        </span>
        <span>{node.name}</span>
      </span>
      <span class="unseen">{` ${word} `}</span>
      <span class="muted number">
        {left !== null && right !== null
          ? `${textBytes(left.size)} → ${textBytes(right.size)}`
          : textBytes((left ?? right)?.size ?? 0)}
      </span>
    </>
  );
}

const MOST_UNASKED = 50_000;

interface ComparisonControl {
  /** `null` before it was started. */
  readonly comparison: Comparison | null;
  readonly start: () => void;
}

function useComparison(app: App, left: ReleaseRow, right: ReleaseRow): ComparisonControl {
  const [comparison, setComparison] = useState<Comparison | null>(null);
  const start = (): void =>
    setComparison(startComparison({ left: readerOf(app, left), right: readerOf(app, right) }));
  const entries = (left.manifest?.entry_count ?? 0) + (right.manifest?.entry_count ?? 0);
  useEffect(() => {
    if (entries <= MOST_UNASKED) start();
  }, [left.manifest?.blake3, right.manifest?.blake3]);
  useEffect(() => () => comparison?.stop(), [comparison]);
  return { comparison, start };
}

function readerOf(app: App, { release_id: id, channel }: ReleaseRow): ReadEntries {
  return async ({ offset, limit }, signal) =>
    (await app.api.read('/v1/distribution', {
      query: { channel, release_id: id, offset: String(offset), limit: String(limit) },
      signal,
    })) as DistributionPage;
}

type DifferenceNode = TreeNode &
  (
    | { readonly kind: 'folder'; readonly folder: ChangedFolder }
    | { readonly kind: 'entry'; readonly pair: EntryPair }
    | { readonly kind: 'more'; readonly folder: ChangedFolder; readonly text: string }
  );

function folderNode(folder: ChangedFolder): DifferenceNode {
  const name = folder.path.slice(folder.path.lastIndexOf('/', folder.path.length - 2) + 1);
  return { kind: 'folder', key: folder.path, name, hasChildren: true, folder };
}

function nodesIn(
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

function growthText(growth: number): string {
  const sign = growth === 0 ? '±' : growth > 0 ? '+' : '−';
  return `${sign}${textBytes(Math.abs(growth))}`;
}

function totalsText({ added, changed, removed }: Totals): string {
  return `${count(added)} added, ${count(changed)} changed, ${count(removed)} removed`;
}
