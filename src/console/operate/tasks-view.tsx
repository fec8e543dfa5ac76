import { untracked } from '@preact/signals';
import type { JSX } from 'preact';
import type { Report, Task } from '../api/wire.ts';
import { Button, Select } from '../components/controls.tsx';
import { Panel } from '../components/panel.tsx';
import { Table } from '../components/table.tsx';
import {
  canCancel,
  CancelButton,
  TaskBadge,
  TaskFailure,
  TaskLink,
  TaskProgress,
} from '../components/task-parts.tsx';
import { Empty, Time } from '../components/text.tsx';
import { useApp, type App } from '../state/app.ts';
import { reportFeed } from '../state/report-feed.ts';
import { BUSY_MS, isActive, taskFeed, taskListFeed } from '../state/tasks.ts';
import type { View } from '../state/view.ts';
import { count, words } from '../text/format.ts';
import { resultBrief } from './result-rows.ts';
import { TaskDetail } from './task-detail.tsx';
import { Took } from './took.tsx';

/** Rows on the page before the reader asks for more. */
const FIRST_ROWS = 50;
/** Members of a result that a row of the list shows. */
const SHOWN_RESULTS = 4;

/** The tasks of the daemon; with an id in the address, one of them. */
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

function List(): JSX.Element {
  const app = useApp();
  const feed = app.pool.state<Report<'task.list'>>('task.list');
  const shown = Number(app.query('rows')) || FIRST_ROWS;
  return (
    <Panel title="Tasks, newest first" feed={feed} tools={<Filters feed={feed.value} />} report="task.list">
      {({ items }) => {
        const rows = items.filter(matcherOf(app));
        if (items.length === 0) {
          return <Empty>No tasks. Every action and every scheduled run creates one.</Empty>;
        }
        if (rows.length === 0) return <NoMatch />;
        return (
          <>
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

/** Whether a task is one that the choices in the address name. */
function matcherOf(app: App): (task: Task) => boolean {
  const [wanted, kind, by] = [app.query('status'), app.query('kind'), app.query('by')];
  return (task) =>
    (wanted === '' || task.status === wanted) &&
    (kind === '' || task.kind === kind) &&
    (by === '' || (by === 'schedule') === (task.schedule_id !== null));
}

function NoMatch(): JSX.Element {
  const app = useApp();
  return (
    <>
      <Empty>No task matches the filters.</Empty>
      <Button onClick={() => app.setQuery({ status: null, kind: null, by: null })}>Show all tasks</Button>
    </>
  );
}

const ORIGINS = [
  ['', 'Anybody'],
  ['schedule', 'A schedule'],
  ['person', 'A person or a job'],
] as const;

function Filters({ feed }: { readonly feed: Report<'task.list'> | null }): JSX.Element {
  const app = useApp();
  const [wanted, kind, by] = [app.query('status'), app.query('kind'), app.query('by')];
  const kinds = [
    ...new Set([...(feed?.items ?? []).map((task) => task.kind), ...(kind === '' ? [] : [kind])]),
  ];
  const statuses = Object.entries(feed?.counts ?? (wanted === '' ? {} : { [wanted]: 0 }));
  return (
    <>
      <Select
        label="Status"
        value={wanted}
        options={[
          ['', 'All'],
          ...statuses.map(([status, some]) => [status, `${words(status)} (${count(some)})`] as const),
        ]}
        onChange={(value) => app.setQuery({ status: value })}
      />
      <Select
        label="Kind"
        value={kind}
        options={[['', 'All'], ...kinds.sort().map((each) => [each, each] as const)]}
        onChange={(value) => app.setQuery({ kind: value })}
      />
      <Select
        label="Started by"
        value={by}
        options={ORIGINS}
        onChange={(value) => app.setQuery({ by: value })}
      />
    </>
  );
}

function TaskTable({ rows }: { readonly rows: readonly Task[] }): JSX.Element {
  const app = useApp();
  return (
    <Table
      caption="Tasks, newest first"
      rows={rows}
      keyOf={({ task_id: id }) => id}
      columns={[
        { head: 'Task', cell: (task) => <TaskLink task={task} /> },
        { head: 'Status', cell: ({ status }) => <TaskBadge status={status} /> },
        {
          head: 'Outcome',
          class: 'wide',
          cell: (task) =>
            outcome(
              task,
              untracked(() => app.now()),
            ),
        },
        { head: 'Asked for', cell: (task) => <Time at={task.created_at} /> },
        { head: 'Took', cell: (task) => <Took task={task} /> },
        { head: 'By', cell: (task) => task.schedule_id ?? task.reviewer ?? '–' },
        {
          head: 'Actions',
          class: 'tools',
          cell: (task) => (canCancel(app, task) ? <CancelButton task={task} /> : '–'),
        },
      ]}
    />
  );
}

function outcome(task: Task, now: number): JSX.Element | string {
  if (isActive(task)) return task.progress === null ? '–' : <TaskProgress task={task} />;
  if (task.failure_code !== null) return <TaskFailure task={task} />;
  return (task.result === null ? '' : resultBrief(task.result, now, SHOWN_RESULTS)) || '–';
}
