import type { JSX } from 'preact';
import type { Report, Task } from '../api/wire.ts';
import { LogLines } from '../components/log-lines.tsx';
import { Panel } from '../components/panel.tsx';
import { CancelButton, TaskBadge, TaskFailure, TaskProgress } from '../components/task-parts.tsx';
import { Badge, Empty, Facts, RawText, Time } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import { isActive } from '../state/tasks.ts';
import { renderExact } from '../text/exact-json.ts';
import { duration } from '../text/format.ts';

/** How long a task took, or has taken so far. */
export function Took({ task }: { readonly task: Task }): JSX.Element {
  const app = useApp();
  const { started_at: started, finished_at: finished } = task;
  return <>{started === null ? '–' : duration((finished ?? app.now()) - started)}</>;
}

/** One task with its log. */
export function TaskDetail({ id }: { readonly id: string }): JSX.Element {
  const { pool } = useApp();
  const feed = pool.state<Report<'task.status'>>(`task:${id}`);
  const logs = pool.state<Report<'task.logs'>>(`task.logs:${id}`);
  const tools = feed.value === null ? null : <CancelButton task={feed.value.task} />;
  return (
    <>
      <p>
        <a href="#/tasks">← All tasks</a>
      </p>
      <Panel title="Task" feed={feed} tools={tools}>
        {({ task }) => <TaskFacts task={task} />}
      </Panel>
      <Panel title="Log of the task" feed={logs}>
        {({ lines, truncated }) => (
          <>
            {truncated ? <Badge tone="warn">The oldest lines were dropped</Badge> : null}
            {lines.length === 0 ? (
              <Empty>The task has written no log lines.</Empty>
            ) : (
              <LogLines label="Lines of the task" lines={lines} />
            )}
          </>
        )}
      </Panel>
    </>
  );
}

function TaskFacts({ task }: { readonly task: Task }): JSX.Element {
  return (
    <>
      <p class="task-head">
        <strong>{task.kind}</strong> <TaskBadge status={task.status} />
      </p>
      {isActive(task) ? <TaskProgress task={task} /> : null}
      <Facts
        rows={[
          ['Id', <code key="id">{task.task_id}</code>],
          ['Failure', task.failure_code === null ? null : <TaskFailure key="failure" task={task} />],
          ['Asked for', <Time key="created" at={task.created_at} />],
          ['Started', <Time key="started" at={task.started_at} otherwise="not yet" />],
          ['Ended', <Time key="ended" at={task.finished_at} otherwise="not yet" />],
          ['Took', <Took key="took" task={task} />],
          ['Attempt', `${task.attempt} of ${task.max_attempts}`],
          ['Lane', task.lane],
          ['Schedule', task.schedule_id],
          ['Reviewer', task.reviewer],
          ['Reason', task.reason],
          [
            'Cancel asked',
            task.cancel_requested_at === null ? null : <Time key="asked" at={task.cancel_requested_at} />,
          ],
          ['Cancel reason', task.cancel_reason],
          ['Request', task.correlation_id === null ? null : <code key="request">{task.correlation_id}</code>],
        ]}
      />
      {Object.keys(task.args).length === 0 ? null : (
        <>
          <h3>Arguments</h3>
          <RawText label="Arguments" text={renderExact(task.args, 2)} />
        </>
      )}
      {task.result === null ? null : (
        <>
          <h3>Result</h3>
          <RawText label="Result of the task" text={renderExact(task.result, 2)} />
        </>
      )}
    </>
  );
}
