/** The parts that show a task, on every page. */

import type { JSX } from 'preact';
import type { Task } from '../api/wire.ts';
import { useApp, type App } from '../state/app.ts';
import { mayRunOn } from '../state/permitted-jobs.ts';
import { isActive, isDryRun } from '../state/tasks.ts';
import { taskAddress } from '../text/addresses.ts';
import { count, duration, percent, sentences, words, textBytes } from '../text/format.ts';
import { ActionButton } from './controls.tsx';
import { Badge, type Tone } from './text.tsx';

const TASK_TONES: Readonly<Record<string, Tone>> = {
  queued: 'idle',
  running: 'info',
  cancelling: 'warn',
  succeeded: 'ok',
  failed: 'bad',
  cancelled: 'idle',
  partly: 'warn',
} satisfies Record<Task['status'] | 'partly', Tone>;

/** The state of a task. */
export function TaskBadge({ status }: { status: string }): JSX.Element {
  return <Badge tone={TASK_TONES[status] ?? 'idle'}>{words(status)}</Badge>;
}

/** The work of a task in words, such as "Verify releases" of `verify`. */
export function taskTitle({ contract }: App, kind: string): string {
  return contract.actions[kind]?.title ?? contract.jobs[kind]?.title ?? words(kind);
}

/** The work of one task; a dry run is named as one. */
export function titleOf(app: App, task: Task): string {
  return `${taskTitle(app, task.kind)}${isDryRun(task) ? ' (dry run)' : ''}`;
}

/** A link to the page of a task. Its tooltip has the kind as the command line names it. */
export function TaskLink({ task }: { task: Task }): JSX.Element {
  return (
    <a href={taskAddress(task.task_id)} title={task.kind}>
      {titleOf(useApp(), task)}
    </a>
  );
}

/** How far a task is; nothing until it reports. */
export function TaskProgress({ task: { kind, progress } }: { task: Task }): JSX.Element | null {
  if (progress === null) return null;
  const { done, total, unit, phase } = progress;
  const amount = (value: number): string => (unit === 'bytes' ? textBytes(value) : count(value));
  const of = total === null ? '' : ` of ${amount(total)}`;
  const share = total === null || total === 0 ? '' : `${percent(done / total)} · `;
  // An empty task counts as done; without a total the bar shows only that the task is running.
  const bar = total === null ? {} : { max: total || 1, value: total === 0 ? 1 : done };
  return (
    <div class="progress">
      <progress aria-label={`Progress of ${kind}`} {...bar} />
      <p>
        {`${share}${amount(done)}${of} `}
        {unit === 'bytes' ? null : <span>{`${unit} `}</span>}
        {'· '}
        <span>{phase}</span>
      </p>
    </div>
  );
}

/** Why a task failed; nothing if it did not. */
export function TaskFailure({
  task: { failure_code: failed, failure_reason: reason },
}: {
  readonly task: Task;
}): JSX.Element | null {
  const app = useApp();
  if (failed === null) return null;
  return <span title={failed}>{sentences(reason ?? words(failed), app.now())}</span>;
}

function canCancel(app: App, task: Task): boolean {
  return isActive(task) && task.status !== 'cancelling' && mayRunOn(app, 'task-cancel', task.kind);
}

/** Opens the form that cancels a task. */
export function CancelButton({ task }: { task: Task }): JSX.Element | null {
  if (!canCancel(useApp(), task)) return null;
  return (
    <ActionButton
      request={{ action: 'task-cancel', fixed: { task_id: task.task_id } }}
      class="danger"
      about={`${task.kind} ${task.task_id}`}
    >
      Cancel
    </ActionButton>
  );
}

/** How long a task took, or has taken so far. */
export function Took({ task }: { task: Task }): JSX.Element {
  const app = useApp();
  const { started_at: started, finished_at: finished } = task;
  return <>{started === null ? '–' : duration((finished ?? app.now()) - started)}</>;
}
