import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ApiFailure, failureOf } from '../../api/api-client.ts';
import { Treemap } from '../../charts/treemap.tsx';
import { Button } from '../../components/controls.tsx';
import { FailureText } from '../../components/text.tsx';
import { useApp, type App } from '../../state/app.ts';
import { readReport } from '../../state/read-report.ts';
import { editorAddress } from '../../text/addresses.ts';
import { counted, count, percent } from '../../text/format.ts';
import { countFiles, tilesOf, type FileCoverage } from './folder-coverage.ts';

/** Tasks of one answer, and answers of one count. */
const PAGE_TASKS = 1000;
const MOST_PAGES = 20;

/** The files of a count, and whether there are more tasks than it reads. */
interface Counted {
  readonly files: ReadonlyMap<string, FileCoverage>;
  readonly isCut: boolean;
}

/**
 * Draws how far the texts of each folder are. A tile opens its folder, or the task of its file.
 *
 * @param props `release`: the one whose tasks are counted; `skipped`: its units of skipped tasks, which are not counted;
 *   `excluded`: its units in files that no publication has
 */
export function CoverageMap({
  release,
  skipped,
  excluded,
}: {
  readonly release: string;
  readonly skipped: number;
  readonly excluded: number;
}): JSX.Element {
  const app = useApp();
  const [round, setRound] = useState(0);
  const found = useCounted(app, release, round);
  const folder = app.query('folder');
  const parts = useMemo(
    () => (found === null || found instanceof ApiFailure ? [] : tilesOf(found.files.values(), folder)),
    [found, folder],
  );
  if (found === null) {
    return (
      <p class="empty" aria-busy="true">
        Counting the texts of each folder …
      </p>
    );
  }
  if (found instanceof ApiFailure) {
    return (
      <p class="note bad">
        <FailureText failure={found} /> <Button onClick={() => setRound(round + 1)}>Count again</Button>
      </p>
    );
  }
  const units = parts.reduce((sum, part) => sum + part.units, 0);
  return (
    <>
      <div class="row-head">
        <span>
          {folder === '' ? 'All folders' : <code>{folder}</code>}{' '}
          <span class="muted">
            {[counted(units, 'unit'), ...(folder === '' ? besides({ skipped, excluded }) : [])].join(', ')}
          </span>
        </span>
        {folder === '' ? null : <a href={folderHref(parentOf(folder))}>One folder up</a>}
        <Button class="plain" onClick={() => setRound(round + 1)}>
          Count again
        </Button>
      </div>
      {parts.length === 0 ? (
        <p class="empty">No text is in this folder.</p>
      ) : (
        <Treemap
          label="Coverage by folder: the area is the number of units, the shade the share that is proofread"
          items={parts.map(({ path, units: weight, proofread, taskId }) => ({
            key: path,
            text: path.slice(folder === '' ? 0 : folder.length + 1),
            weight,
            share: weight === 0 ? 0 : proofread / weight,
            href: taskId === null ? folderHref(path) : editorAddress(taskId),
          }))}
          figure={({ share }) => percent(share)}
          describe={({ weight, share }) => `${percent(share)} proofread, ${counted(weight, 'unit')}`}
        />
      )}
      {found.isCut ? (
        <p class="muted">{`Only the first ${count(PAGE_TASKS * MOST_PAGES)} tasks are counted.`}</p>
      ) : null}
    </>
  );
}

/** How the units of the map differ from those of the figures above it, and from those of a publication. */
function besides({
  skipped,
  excluded,
}: {
  readonly skipped: number;
  readonly excluded: number;
}): readonly string[] {
  return [
    ...(skipped === 0 ? [] : [`without ${count(skipped)} of skipped tasks`]),
    ...(excluded === 0 ? [] : [`${count(excluded)} of them in files that are not published`]),
  ];
}

function folderHref(folder: string): string {
  return folder === '' ? '#/translate' : `#/translate?${new URLSearchParams({ folder }).toString()}`;
}

function parentOf(folder: string): string {
  return folder.includes('/') ? folder.slice(0, folder.lastIndexOf('/')) : '';
}

/** Counts the tasks of a release once, and again in another round. */
function useCounted(app: App, release: string, round: number): Counted | ApiFailure | null {
  const [state, setCounted] = useState<Counted | ApiFailure | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    countTasks(app, release, leaving.signal).then(
      (files) => setCounted(files),
      (error: unknown) => {
        if (leaving.signal.aborted) return;
        setCounted(failureOf(error));
      },
    );
    return () => leaving.abort();
  }, [release, round]);
  return state;
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
