import { useRef } from 'preact/hooks';
import type { FeedRequest } from '../../api/feed-pool.ts';
import type { Report } from '../../api/wire.ts';
import { isNarrow } from '../../components/narrow.ts';
import { FailureText, EmptyState, Empty } from '../../components/text.tsx';
import { useApp, type App } from '../../state/app.ts';
import { reportFeed } from '../../state/read-report.ts';
import { useReportPages } from '../../state/report-pages.ts';
import type { View } from '../../state/view.ts';
import { SeekNote } from './list/seek.tsx';
import { useShownUnits, type ShownUnits } from './list/shown-units.ts';
import { UnitList } from './list/unit-list.tsx';
import { unitReader, type FoundUnit, type ReadUnits, type UnitSource } from './list/unit-scan.tsx';
import { useSelection, type Selection } from './list/use-selection.ts';
import { TaskHead, type EditorMode } from './task-head.tsx';
import { UnitDesk } from './unit-desk.tsx';
import { containerQuery, taskFeedKey, type TranslationTask, type Unit } from './unit.ts';
import { NOTHING, useMoves } from './use-moves.ts';

export const editorView: View = { feeds: (app) => [taskFeedOf(app)], Body: EditorBody };

const TASK_EVERY_MS = 10_000;

function taskFeedOf(app: App): FeedRequest {
  return reportFeed(app, 'translation.tasks', {
    key: taskFeedKey(app),
    query: { task_id: app.route.argument ?? '-' },
    everyMs: TASK_EVERY_MS,
  });
}

function EditorBody() {
  const app = useApp();
  const { value, failure } = app.pool.state<Report<'translation.tasks'>>(taskFeedKey(app));
  const [task] = value?.items ?? [];
  if (task !== undefined) return <TaskEditor task={task} key={task.task_id} />;
  if (failure !== null) {
    return (
      <p class="note bad" role="alert">
        <FailureText failure={failure} />
      </p>
    );
  }
  if (value === null) return <Empty>Loading …</Empty>;
  return (
    <EmptyState title="There is no such task" actions={<a href="#/translate">All tasks</a>}>
      It may belong to a release that was removed. Choose a task from the list.
    </EmptyState>
  );
}

function TaskEditor({ task }: { task: TranslationTask }) {
  const app = useApp();
  const container = containerQuery(task);
  const source = useReportPages(app, 'parse.text_units', { query: container, stamp: task.updated_at });
  const read = unitReader(app, container);
  const selection = useSelection(source, read);
  const list = useShownUnits(source, read, task);
  const mode: EditorMode =
    app.query('mode') === 'review' && app.mayRun('translation-proofread') ? 'review' : 'translate';
  return (
    <div class="editor full-width">
      <TaskHead
        task={task}
        mode={mode}
        onMode={(next) => app.setQuery({ mode: next === 'review' ? 'review' : null })}
      />
      <Columns source={source} selection={selection} list={list} read={read} mode={mode} />
    </div>
  );
}

function Columns({
  source,
  selection,
  list: shown,
  read,
  mode,
}: {
  readonly source: UnitSource;
  readonly selection: Selection;
  readonly list: ShownUnits;
  readonly read: ReadUnits;
  readonly mode: EditorMode;
}) {
  const { value: list, failure } = source.state.value;
  const { index, isPlaced, search } = selection;
  const isPhone = isNarrow();
  const { unit, script } = useSelectedUnit(source, isPlaced ? index : null);
  const total = list?.total ?? 0;
  /** Whether the next unit is edited immediately, because the person was editing. */
  const goesOn = useRef(false);
  const moves = useMoves({ selection, shown, read, mode, goesOn });
  const showsList = !isPhone || index === null;
  return (
    <>
      {failure === null ? null : (
        <p class="note bad" role="alert">
          <FailureText failure={failure} /> The texts below may be old.
        </p>
      )}
      <SeekNote
        state={search}
        what="the unit of this address"
        absent="The unit of this address is no longer in this task."
      />
      <SeekNote state={moves.search} what="the next unit that needs work" absent={NOTHING[mode]} />
      {list !== null && total === 0 ? (
        <EmptyState title="This task has no text" actions={<a href="#/translate">All tasks</a>}>
          A newer release may have removed its file.
        </EmptyState>
      ) : (
        <div class="editor-columns">
          {showsList ? (
            <UnitList list={shown} active={index} onActive={moves.select} onOpen={focusTarget} />
          ) : null}
          {index === null ? null : unit === undefined ? (
            <Empty>Loading …</Empty>
          ) : (
            <UnitDesk
              key={unit.unit_id}
              unit={unit}
              index={index}
              script={script}
              mode={mode}
              goesOn={goesOn}
              onMove={moves.move}
              onSelect={moves.select}
              onBack={isPhone ? () => moves.select(null) : null}
            />
          )}
        </div>
      )}
    </>
  );
}

/** Lines that are shown before and after the open one. */
const AROUND = 5;

/** The unit at a position, and the lines around it. They stay when the list forgets their page because the reader scrolls far away. */
function useSelectedUnit(
  source: UnitSource,
  index: number | null,
): { readonly unit: Unit | undefined; readonly script: readonly FoundUnit[] } {
  const kept = useRef({ place: '', rows: new Map<number, Unit>() });
  if (index === null) return { unit: undefined, script: [] };
  const place = `${source.state.value.value?.edition ?? 0} ${index}`;
  if (kept.current.place !== place) kept.current = { place, rows: new Map() };
  const { rows } = kept.current;
  for (let at = Math.max(0, index - AROUND); at <= index + AROUND; at += 1) {
    const row = source.row(at);
    if (row !== undefined) rows.set(at, row);
  }
  const script = [...rows].map(([at, unit]) => ({ index: at, unit }));
  return { unit: rows.get(index), script: script.toSorted((one, other) => one.index - other.index) };
}

function focusTarget(): void {
  document.getElementById('target')?.focus();
}
