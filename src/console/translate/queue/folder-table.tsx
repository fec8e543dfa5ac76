import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Button } from '../../components/controls.tsx';
import { Panel } from '../../components/panel.tsx';
import { NOTHING, Table } from '../../components/table.tsx';
import { FailureText } from '../../components/text.tsx';
import { useApp, type App } from '../../state/app.ts';
import { readReport, reportState } from '../../state/read-report.ts';
import { useAnswer } from '../../state/use-answer.ts';
import { editorAddress } from '../../text/addresses.ts';
import { counted, count, percent } from '../../text/format.ts';
import { CoverageStripe } from '../publish/coverage-bar.tsx';
import { countFiles, partsOf, unitsLeft, type FileCoverage, type PartCoverage } from './folder-coverage.ts';

const PAGE_TASKS = 1000;
const MOST_PAGES = 20;
/** More rows would push the tasks out of sight. */
const MOST_ROWS = 12;

interface Counted {
  readonly files: ReadonlyMap<string, FileCoverage>;
  readonly isCut: boolean;
}

/** How far the translation of the official release is, and each of its folders. */
export function FolderCoverage(): JSX.Element {
  const feed = reportState(useApp(), 'translation.status');
  return (
    <Panel title="Coverage by folder" feed={feed}>
      {({ coverage: { release_id: release, units, accepted, translated, skipped, excluded } }) => {
        if (release === null || units === 0) {
          return <p class="empty">The translation tasks of the official release are not built yet.</p>;
        }
        const beside = [
          ...(skipped === 0 ? [] : [`${counted(skipped, 'unit')} of skipped tasks are not in the table`]),
          ...((excluded ?? 0) === 0
            ? []
            : [`${counted(excluded ?? 0, 'unit')} are in files that are not published`]),
        ];
        return (
          <>
            <p>
              <code>{release}</code>
              {`: ${percent(translated / units)} of ${counted(units, 'unit')} translated, ${percent(accepted / units)} proofread. `}
              <span class="muted">{beside.map((part) => `${part}. `)}</span>
            </p>
            <Folders release={release} />
          </>
        );
      }}
    </Panel>
  );
}

function Folders({ release }: { release: string }) {
  const app = useApp();
  const [round, setRound] = useState(0);
  const { value: found, failure } = useAnswer(
    `${release} ${round}`,
    async (signal) => await countTasks(app, release, signal),
    0,
  );
  const folder = app.query('folder');
  const parts = useMemo(() => (found === null ? [] : partsOf(found.files.values(), folder)), [found, folder]);
  const again = (
    <Button class="plain" onClick={() => setRound(round + 1)}>
      Count again
    </Button>
  );
  if (failure !== null) {
    return (
      <p class="note bad">
        <FailureText failure={failure} /> {again}
      </p>
    );
  }
  if (found === null) {
    return (
      <p class="empty" aria-busy="true">
        Counting the texts of each folder …
      </p>
    );
  }
  return (
    <>
      <div class="row-head">
        {folder === '' ? <span>All folders</span> : <code>{folder}</code>}
        {folder === '' ? null : <a href={folderHref(parentOf(folder))}>One folder up</a>}
        {again}
      </div>
      {parts.length === 0 ? (
        <p class="empty">No text is in this folder.</p>
      ) : (
        <Parts parts={parts} folder={folder} key={folder} />
      )}
      {found.isCut ? (
        <p class="muted">{`Only the first ${count(PAGE_TASKS * MOST_PAGES)} tasks are counted.`}</p>
      ) : null}
    </>
  );
}

function Parts({ parts, folder }: { parts: readonly PartCoverage[]; folder: string }) {
  const [showsAll, setShowsAll] = useState(false);
  const hidden = showsAll ? 0 : parts.length - MOST_ROWS;
  return (
    <>
      <Table
        caption="Coverage by folder, that with the most units left first"
        rows={hidden > 0 ? parts.slice(0, MOST_ROWS) : parts}
        keyOf={({ path }) => path}
        columns={[
          {
            head: 'Folder or file',
            cell: ({ path, taskId }) => (
              <a href={taskId === null ? folderHref(path) : editorAddress(taskId)}>
                {path.slice(folder === '' ? 0 : folder.length + 1)}
                {taskId === null ? '/' : null}
              </a>
            ),
          },
          { head: 'Coverage', class: 'wide', cell: ({ counts }) => <CoverageStripe units={counts} /> },
          { head: 'Proofread', cell: ({ counts }) => percent((counts['proofread'] ?? 0) / sumOf(counts)) },
          { head: 'Units left', narrow: 'aside', cell: ({ counts }) => leftText(counts) },
          { head: 'Blocked', cell: ({ counts }) => (counts['blocked'] ? count(counts['blocked']) : NOTHING) },
        ]}
      />
      {hidden > 0 ? (
        <Button class="plain" onClick={() => setShowsAll(true)}>
          {`Show ${counted(hidden, 'more row')}`}
        </Button>
      ) : null}
    </>
  );
}

function leftText(counts: PartCoverage['counts']): string {
  const left = unitsLeft(counts);
  return left === 0 ? 'none' : `${count(left)} of ${count(sumOf(counts))}`;
}

function sumOf(counts: PartCoverage['counts']): number {
  return Object.values(counts).reduce((sum, some) => sum + some, 0);
}

function folderHref(folder: string): string {
  return folder === '' ? '#/translate' : `#/translate?${new URLSearchParams({ folder }).toString()}`;
}

function parentOf(folder: string): string {
  return folder.includes('/') ? folder.slice(0, folder.lastIndexOf('/')) : '';
}

async function countTasks(app: App, release: string, signal: AbortSignal): Promise<Counted> {
  let files: ReadonlyMap<string, FileCoverage> = new Map();
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const query = { release_id: release, limit: String(PAGE_TASKS), offset: String(page * PAGE_TASKS) };
    const answer = await readReport(app, 'translation.tasks', query, signal);
    files = countFiles(files, answer.items);
    if ((page + 1) * PAGE_TASKS >= answer.total) return { files, isCut: false };
  }
  return { files, isCut: true };
}
