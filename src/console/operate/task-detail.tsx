import type { JSX } from 'preact';
import { endedAs } from '../../domain/translation/run-brief.ts';
import type { ConsoleContract } from '../../contract/console/console-contract.ts';
import type { Report, Task } from '../api/wire.ts';
import { ThroughputCurve } from '../charts/throughput-curve.tsx';
import { ActionButton } from '../components/controls.tsx';
import { LogLines } from '../components/log-lines.tsx';
import { Panel } from '../components/panel.tsx';
import { ResultFacts } from '../components/result-facts.tsx';
import { Stepper } from '../components/stepper.tsx';
import { Took, CancelButton, TaskBadge, TaskProgress, titleOf } from '../components/task-parts.tsx';
import { Badge, Empty, Facts, Prose, Time } from '../components/text.tsx';
import { useApp, useWholeContract, type ActionRequest } from '../state/app.ts';
import { isActive } from '../state/tasks.ts';
import { renderExact } from '../text/exact-json.ts';
import { mainPhase, samplesOf, speedText, taskSteps, type TaskStatus } from './task-steps.ts';

/** One task: its steps, its outcome and its log. */
export function TaskDetail({ id }: { id: string }): JSX.Element {
  const app = useApp();
  const { pool } = app;
  const feed = pool.state<TaskStatus>(`task:${id}`);
  const logs = pool.state<Report<'task.logs'>>(`task.logs:${id}`);
  const query = { task_id: id };
  const tools = feed.value === null ? null : <TaskActions task={feed.value.task} />;
  return (
    <>
      <p>
        <a href="#/tasks">← All tasks</a>
      </p>
      <Panel title="Task" feed={feed} tools={tools} report="task.status" query={query}>
        {(status) => (
          <>
            <p class="task-head">
              <strong>{titleOf(app, status.task)}</strong> <code class="muted">{status.task.kind}</code>{' '}
              <TaskBadge status={endedAs(status.task)} />
            </p>
            <Failure task={status.task} />
            <Course status={status} />
            <TaskFacts task={status.task} />
          </>
        )}
      </Panel>
      <Panel title="Log of the task" feed={logs} report="task.logs" query={query}>
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

function TaskActions({ task }: { task: Task }) {
  const contract = useWholeContract();
  const again = contract === null ? null : retryRequest(task, contract.actions);
  return (
    <>
      <CancelButton task={task} />
      {again === null ? null : (
        <ActionButton request={again} class="primary" about={task.kind}>
          Try again …
        </ActionButton>
      )}
    </>
  );
}

function Failure({ task }: { task: Task }) {
  const contract = useWholeContract();
  const { failure_code: code, failure_reason: reason } = task;
  if (code === null) return null;
  const meaning = contract?.problems[code];
  return (
    <div class="note bad">
      <p>
        <strong>{reason ?? 'The task failed.'}</strong> <code>{code}</code>
      </p>
      {meaning === undefined ? null : (
        <p>
          <Prose text={meaning} />
        </p>
      )}
      {isActive(task) ? <p>The daemon retries it automatically.</p> : null}
    </div>
  );
}

function Course({ status }: { status: TaskStatus }) {
  const { task, course } = status;
  const steps = taskSteps(status);
  const bar = isActive(task) ? <TaskProgress task={task} /> : null;
  if (steps.length === 0) return bar;
  const phase = isActive(task) ? (course.at(-1) ?? null) : mainPhase(course);
  return (
    <div class="course">
      <Stepper label={`Steps of ${task.kind}`} steps={steps} />
      <div>
        {bar}
        {phase === null ? null : (
          <ThroughputCurve
            label={`Speed of the step ${phase.phase}`}
            samples={samplesOf(phase)}
            format={(rate) => speedText(rate, phase.unit)}
          />
        )}
      </div>
    </div>
  );
}

function TaskFacts({ task }: { task: Task }) {
  return (
    <>
      <Facts
        rows={[
          ['Id', <code key="id">{task.task_id}</code>],
          ['Requested', <Time clock="beside" key="created" at={task.created_at} />],
          ['Started', <Time clock="beside" key="started" at={task.started_at} otherwise="not yet" />],
          ['Ended', <Time clock="beside" key="ended" at={task.finished_at} otherwise="not yet" />],
          ['Took', <Took key="took" task={task} />],
          ['Attempt', `${task.attempt} of ${task.max_attempts}`],
          ['Lane', task.lane],
          ['Schedule', task.schedule_id],
          ['Reviewer', task.reviewer],
          ['Reason', task.reason],
          [
            'Cancellation requested',
            task.cancel_requested_at === null ? null : (
              <Time clock="beside" key="asked" at={task.cancel_requested_at} />
            ),
          ],
          ['Reason of the cancellation', task.cancel_reason],
          ['Request', task.correlation_id === null ? null : <code key="request">{task.correlation_id}</code>],
        ]}
      />
      {Object.keys(task.args).length === 0 ? null : (
        <>
          <h3>Arguments</h3>
          <ResultFacts label="Arguments" value={task.args} />
        </>
      )}
      {task.result === null ? null : (
        <>
          <h3>Result</h3>
          <ResultFacts label="Result" value={task.result} />
        </>
      )}
    </>
  );
}

/**
 * The action of a task that failed or was cancelled, with its arguments.
 *
 * @returns `null` for a task that works or has succeeded, and for work that no action starts
 */
export function retryRequest(task: Task, actions: ConsoleContract['actions']): ActionRequest | null {
  const { kind, status, args } = task;
  const action = actions[kind];
  if (action === undefined || isActive(task) || (status === 'succeeded' && task.failure_code === null))
    return null;
  const fields = action.schema.properties;
  const initial: Record<string, string | boolean> = {};
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(args)) {
    if (value === null || value === false) continue;
    if (name in fields && name !== 'args') initial[name] = value === true ? true : textOf(value);
    else if (typeof value !== 'object') pairs.push(`${name}=${textOf(value)}`);
  }
  if (pairs.length > 0 && 'args' in fields) initial['args'] = pairs.join('\n');
  return { action: kind, initial };
}

function textOf(value: unknown): string {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join('\n');
  return typeof value === 'string' ? value : renderExact(value);
}
