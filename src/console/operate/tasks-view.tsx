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
import { useApp } from '../state/app.ts';
import { reportFeed } from '../state/report-feed.ts';
import { BUSY_MS, isActive, taskFeed, taskListFeed } from '../state/tasks.ts';
import type { View } from '../state/view.ts';
import { bytes, count, words } from '../text/format.ts';
import { TaskDetail, Took } from './task-detail.tsx';

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
  const { taskStatus, taskRows } = app.settings;
  const options = [
    ['', 'All'] as const,
    ...Object.entries(feed.value?.counts ?? {}).map(
      ([status, some]) => [status, `${words(status)} (${count(some)})`] as const,
    ),
  ];
  const tools = (
    <Select
      label="Status"
      value={taskStatus}
      options={options}
      onChange={(value) => app.set({ taskStatus: value })}
    />
  );
  return (
    <Panel title="Tasks, newest first" feed={feed} tools={tools}>
      {({ items }) => {
        const rows = items.filter(({ status }) => taskStatus === '' || status === taskStatus);
        if (rows.length === 0) {
          return <Empty>No tasks. Every action and every scheduled run creates one.</Empty>;
        }
        return (
          <>
            <TaskTable rows={rows.slice(0, taskRows)} />
            {rows.length > taskRows ? (
              <Button onClick={() => app.set({ taskRows: taskRows + FIRST_ROWS })}>
                {`Show ${Math.min(FIRST_ROWS, rows.length - taskRows)} more`}
              </Button>
            ) : null}
          </>
        );
      }}
    </Panel>
  );
}

function TaskTable({ rows }: { readonly rows: readonly Task[] }): JSX.Element {
  return (
    <Table
      caption="Tasks, newest first"
      rows={rows}
      keyOf={({ task_id: id }) => id}
      columns={[
        { head: 'Task', cell: (task) => <TaskLink task={task} /> },
        { head: 'Status', cell: ({ status }) => <TaskBadge status={status} /> },
        { head: 'Outcome', class: 'wide', cell: outcome },
        { head: 'Asked for', cell: (task) => <Time at={task.created_at} /> },
        { head: 'Took', cell: (task) => <Took task={task} /> },
        { head: 'By', cell: (task) => task.schedule_id ?? task.reviewer ?? '–' },
        {
          head: 'Actions',
          class: 'tools',
          cell: (task) => (canCancel(task) ? <CancelButton task={task} /> : '–'),
        },
      ]}
    />
  );
}

function outcome(task: Task): JSX.Element | string {
  if (isActive(task)) return task.progress === null ? '–' : <TaskProgress task={task} />;
  if (task.failure_code !== null) return <TaskFailure task={task} />;
  // At a glance, a few members of the result say more than its JSON.
  const members = Object.entries(task.result ?? {})
    .map(resultText)
    .filter((text) => text !== null);
  return members.length === 0 ? '–' : members.slice(0, SHOWN_RESULTS).join(' · ');
}

function resultText([name, value]: [string, unknown]): string | null {
  const label = words(name).toLowerCase();
  if (value === true) return label;
  if (typeof value !== 'number') return null;
  return name.endsWith('bytes')
    ? `${label.replace(/ ?bytes$/, '')} ${bytes(value)}`
    : `${label} ${count(value)}`;
}
