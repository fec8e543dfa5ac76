import { untracked } from '@preact/signals';
import type { JSX } from 'preact';
import { endedAs, runBrief } from '../../domain/translation/run-brief.ts';
import type { Report, Task } from '../api/wire.ts';
import { Button } from '../components/controls.tsx';
import { FilterBar } from '../components/filter-bar.tsx';
import { Panel } from '../components/panel.tsx';
import { Table } from '../components/table.tsx';
import {
  Took,
  CancelButton,
  TaskBadge,
  TaskFailure,
  TaskLink,
  TaskProgress,
  taskTitle,
} from '../components/task-parts.tsx';
import { Empty, Time } from '../components/text.tsx';
import { useApp, type App } from '../state/app.ts';
import { reportFeed, reportState } from '../state/read-report.ts';
import { BUSY_MS, isActive, taskFeed, taskListFeed } from '../state/tasks.ts';
import type { View } from '../state/view.ts';
import { count, words } from '../text/format.ts';
import { resultBrief } from '../text/result-words.ts';
import { TaskDetail } from './task-detail.tsx';

const FIRST_ROWS = 50;
const SHOWN_RESULTS = 4;

export const tasksView: View = {
  feeds: (app) => {
    const id = app.route.argument;
    if (id === null) return [taskListFeed(app)];
    const isRunning = (): boolean =>
      isActive(app.pool.state<Report<'task.status'>>(`task:${id}`).value?.task ?? { status: 'running' });
    return [
      taskFeed(app, id),
      reportFeed(app, 'task.logs', {
        key: `task.logs:${id}`,
        query: { task_id: id },
        everyMs: () => (isRunning() ? BUSY_MS : 30_000),
      }),
    ];
  },
  Body: () => {
    const id = useApp().route.argument;
    return id === null ? <List /> : <TaskDetail id={id} />;
  },
};

function List() {
  const app = useApp();
  const feed = reportState(app, 'task.list');
  const shown = Number(app.query('rows')) || FIRST_ROWS;
  return (
    <Panel title="Tasks, newest first" feed={feed} report="task.list">
      {(report) => {
        const { items } = report;
        const rows = items.filter(matcherOf(app));
        if (items.length === 0) {
          return <Empty>No tasks. Every action and every scheduled run creates one.</Empty>;
        }
        const filters = <Filters report={report} shown={rows.length} />;
        if (rows.length === 0) {
          return (
            <>
              {filters}
              <Empty>No task matches the filters.</Empty>
            </>
          );
        }
        return (
          <>
            {filters}
            <TaskTable rows={rows.slice(0, shown)} />
            {rows.length > shown ? (
              <Button onClick={() => app.setQuery({ rows: String(shown + FIRST_ROWS) })}>
                {`Show ${Math.min(FIRST_ROWS, rows.length - shown)} more`}
              </Button>
            ) : null}
          </>
        );
      }}
    </Panel>
  );
}

function matcherOf(app: App): (task: Task) => boolean {
  const [wanted, kind, by] = [app.query('status'), app.query('kind'), app.query('by')];
  return (task) =>
    (wanted === '' || task.status === wanted) &&
    (kind === '' || task.kind === kind) &&
    (by === '' || (by === 'schedule') === (task.schedule_id !== null));
}

const ORIGINS = [
  ['schedule', 'A schedule'],
  ['person', 'A person or a job'],
] as const;

function Filters({ report: { items, counts }, shown }: { report: Report<'task.list'>; shown: number }) {
  const app = useApp();
  const kind = app.query('kind');
  const kinds = [...new Set([...items.map((task) => task.kind), ...(kind === '' ? [] : [kind])])];
  const titled = kinds.map((each) => [each, taskTitle(app, each)] as const);
  return (
    <FilterBar
      label="Filter the tasks"
      filters={[
        {
          kind: 'choice',
          name: 'status',
          label: 'Status',
          options: Object.entries(counts).map(([status, some]) => [
            status,
            `${words(status)} (${count(some)})`,
          ]),
        },
        {
          kind: 'choice',
          name: 'kind',
          label: 'Kind',
          options: titled.toSorted(([, left], [, right]) => left.localeCompare(right)),
        },
        { kind: 'choice', name: 'by', label: 'Started by', options: ORIGINS },
      ]}
      count={`${count(shown)} of ${count(items.length)}`}
    />
  );
}

function TaskTable({ rows }: { rows: readonly Task[] }) {
  const app = useApp();
  return (
    <Table
      caption="Tasks, newest first"
      rows={rows}
      keyOf={({ task_id: id }) => id}
      columns={[
        { head: 'Task', cell: (task) => <TaskLink task={task} /> },
        { head: 'Status', narrow: 'aside', cell: (task) => <TaskBadge status={endedAs(task)} /> },
        {
          head: 'Outcome',
          class: 'wide',
          cell: (task) =>
            outcome(
              task,
              untracked(() => app.now()),
            ),
        },
        { head: 'Requested', class: 'whole', cell: (task) => <Asked task={task} /> },
        { head: 'Took', class: 'whole', narrow: 'none', cell: (task) => <Took task={task} /> },
      ]}
    />
  );
}

function Asked({ task }: { task: Task }) {
  const by = task.schedule_id ?? task.reviewer;
  return (
    <>
      <Time at={task.created_at} />
      {by === null ? null : <span class="muted">{` by ${by}`}</span>}
    </>
  );
}

function outcome(task: Task, now: number): JSX.Element | string {
  if (isActive(task)) {
    return (
      <span class="active-task">
        <TaskProgress task={task} />
        <CancelButton task={task} />
      </span>
    );
  }
  const run = runBrief(task.result);
  if (run !== null) return run;
  if (task.failure_code !== null) return <TaskFailure task={task} />;
  return (task.result === null ? '' : resultBrief(task.result, now, SHOWN_RESULTS)) || '–';
}
