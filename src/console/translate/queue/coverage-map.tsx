import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Treemap } from '../../charts/treemap.tsx';
import { Button } from '../../components/controls.tsx';
import { Panel } from '../../components/panel.tsx';
import { FailureText, Facts } from '../../components/text.tsx';
import { useApp, type App } from '../../state/app.ts';
import { readReport, reportState } from '../../state/read-report.ts';
import { useAnswer } from '../../state/use-answer.ts';
import { editorAddress } from '../../text/addresses.ts';
import { counted, count, percent } from '../../text/format.ts';
import { blockedText } from '../blockers-panel.tsx';
import { countFiles, tilesOf, type FileCoverage } from './folder-coverage.ts';

const PAGE_TASKS = 1000;
const MOST_PAGES = 20;

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
function CoverageMap({ release, skipped, excluded }: { release: string; skipped: number; excluded: number }) {
  const app = useApp();
  const [round, setRound] = useState(0);
  const { value: found, failure } = useAnswer(
    `${release} ${round}`,
    async (signal) => await countTasks(app, release, signal),
    0,
  );
  const folder = app.query('folder');
  const parts = useMemo(() => (found === null ? [] : tilesOf(found.files.values(), folder)), [found, folder]);
  if (failure !== null) {
    return (
      <p class="note bad">
        <FailureText failure={failure} /> <Button onClick={() => setRound(round + 1)}>Count again</Button>
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

function besides({ skipped, excluded }: { skipped: number; excluded: number }): readonly string[] {
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

/** How far the translation of the official release is. */
export function TextCoverage(): JSX.Element {
  const feed = reportState(useApp(), 'translation.status');
  return (
    <Panel title="Coverage" feed={feed}>
      {({
        coverage,
        coverage: { release_id: release, units, accepted, translated, skipped, excluded, by_state: states },
      }) => {
        if (release === null || units === 0) {
          return <p class="empty">The translation tasks of the official release are not built yet.</p>;
        }
        const part = (some: number): string => `${percent(some / units)} (${count(some)} of ${count(units)})`;
        return (
          <>
            <div class="columns">
              <Facts
                rows={[
                  ['Release', <code key="release">{release}</code>],
                  ['Translated', part(translated)],
                  ['Proofread', part(accepted)],
                ]}
              />
              <Facts
                rows={[
                  ['Blocked', blockedText(coverage)],
                  ['Stale', count(states['stale'] ?? 0)],
                  ['Untranslated', count(states['untranslated'] ?? 0)],
                ]}
              />
            </div>
            <CoverageMap release={release} skipped={skipped} excluded={excluded ?? 0} />
          </>
        );
      }}
    </Panel>
  );
}
