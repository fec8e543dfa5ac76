import type { JSX } from 'preact';
import type { Task } from '../api/wire.ts';
import { Panel } from '../components/panel.tsx';
import { CancelButton, TaskBadge, TaskLink, TaskProgress } from '../components/task-parts.tsx';
import { Badge, Empty, Time } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import { reportState } from '../state/read-report.ts';
import { isActive } from '../state/tasks.ts';
import { count, words } from '../text/format.ts';
import { divideChecks } from './doctor-checks.ts';

const NEXT_RUNS = 4;

/** The tasks that wait or run. */
export function RunningTasks(): JSX.Element {
  const feed = reportState(useApp(), 'task.list');
  return (
    <Panel title="Running now" feed={feed} tools={<a href="#/tasks">All tasks</a>} report="task.list">
      {({ items }) => {
        const active = items.filter(isActive);
        if (active.length === 0) return <Empty>No active tasks.</Empty>;
        return (
          <ul class="rows">
            {active.map((task) => (
              <li key={task.task_id}>
                <TaskRow task={task} />
              </li>
            ))}
          </ul>
        );
      }}
    </Panel>
  );
}

function TaskRow({ task }: { task: Task }) {
  return (
    <>
      <div class="row-head">
        <TaskLink task={task} /> <TaskBadge status={task.status} />
        <CancelButton task={task} />
      </div>
      <TaskProgress task={task} />
    </>
  );
}

/** The next runs of the schedules. */
export function NextRuns(): JSX.Element {
  const feed = reportState(useApp(), 'schedule.list');
  return (
    <Panel
      title="Next runs"
      feed={feed}
      tools={<a href="#/schedules">All schedules</a>}
      report="schedule.list"
    >
      {({ items }) => {
        const due = items
          .filter(
            ({ enabled, replaced_by: other, next_run_unix_seconds: next }) =>
              enabled && other === null && next !== null,
          )
          .sort((left, right) => Number(left.next_run_unix_seconds) - Number(right.next_run_unix_seconds))
          .slice(0, NEXT_RUNS);
        if (due.length === 0) return <Empty>No scheduled runs. Add a schedule to sync automatically.</Empty>;
        return (
          <ul class="rows">
            {due.map(({ id, action, next_run_unix_seconds: next }) => (
              <li key={id}>
                <span>{words(action)}</span> <Time at={Number(next)} /> <span class="muted">{id}</span>
              </li>
            ))}
          </ul>
        );
      }}
    </Panel>
  );
}

/** The doctor in one line, with the names of the checks that found something. */
export function DoctorLine(): JSX.Element {
  const feed = reportState(useApp(), 'daemon.doctor');
  return (
    <Panel title="Doctor" feed={feed} tools={<a href="#/diagnostics">All checks</a>} report="daemon.doctor">
      {({ checks }) => {
        const { troubled, passed, unjudged } = divideChecks(checks);
        return (
          <p>
            {`${count(passed.length)} of ${count(checks.length)} checks are ok. `}
            {unjudged.length === 0 ? null : `${count(unjudged.length)} had nothing to judge yet. `}
            {troubled.map(({ id, status }) => (
              <span key={id}>
                <Badge tone={status === 'failing' ? 'bad' : 'warn'}>{words(status)}</Badge>{' '}
                <code>{id}</code>{' '}
              </span>
            ))}
          </p>
        );
      }}
    </Panel>
  );
}
