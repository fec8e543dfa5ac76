import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Accepted, Report, Task } from '../api/wire.ts';
import { Button } from '../components/controls.tsx';
import { ResultFacts } from '../components/result-facts.tsx';
import { TaskBadge, TaskFailure, TaskLink, TaskProgress } from '../components/task-parts.tsx';
import { Facts } from '../components/text.tsx';
import { useApp, type App } from '../state/app.ts';
import { reportState } from '../state/read-report.ts';
import { isActive, laterSuccess } from '../state/tasks.ts';
import { taskAddress } from '../text/addresses.ts';

/** The answer to an action: the daemon's 202, and the current state of its task. */
export function ActionAnswer({ accepted, close }: { accepted: Accepted; close: () => void }): JSX.Element {
  const app = useApp();
  const { task_id: id, status, deduplicated, ignored_fields: ignored } = accepted;
  const task = app.pool.state<Report<'task.status'>>(`task:${id}`).value?.task;
  const result = task?.result ?? accepted.result;
  const hasEnded = task !== undefined && !isActive(task);
  const link = (
    <a href={taskAddress(id)} onClick={close}>
      <code>{id}</code>
    </a>
  );
  return (
    <div class="answer">
      <p>
        <TaskBadge status={task?.status ?? status} />{' '}
        {hasEnded ? 'The task has ended.' : 'The daemon has accepted it.'}
      </p>
      {task === undefined || hasEnded ? null : <TaskProgress task={task} />}
      <Facts
        rows={[
          ['Task', link],
          ['Deduplicated', deduplicated ? 'An equal task already existed; this is that task.' : null],
          ['Not used', ignored.length > 0 ? ignored.join(', ') : null],
          ['Failure', task === undefined || task.failure_code === null ? null : <TaskFailure task={task} />],
          ['Since then', task?.status === 'failed' ? healedText(app, task) : null],
        ]}
      />
      {result === undefined || result === null ? null : <ResultFacts label="Result" value={result} />}
      <div class="buttons">
        <Button onClick={close} class="primary">
          Done
        </Button>
      </div>
    </div>
  );
}

function healedText(app: App, failed: Task): JSX.Element | null {
  const healing = laterSuccess(failed, reportState(app, 'task.list').value?.items ?? []);
  return healing === null ? null : (
    <>
      <TaskLink task={healing} /> has succeeded, so nothing is left to do here.
    </>
  );
}

/** Waits for the task of a dry run. */
export function TrialWatch({
  id,
  onEnded,
}: {
  readonly id: string | null;
  readonly onEnded: (task: Task) => void;
}): JSX.Element {
  const app = useApp();
  const task = id === null ? undefined : app.pool.state<Report<'task.status'>>(`task:${id}`).value?.task;
  const hasEnded = task !== undefined && !isActive(task);
  useEffect(() => {
    if (hasEnded) onEnded(task);
  }, [hasEnded]);
  return (
    <div aria-busy="true">
      <p tabIndex={-1} data-trial={true}>
        The dry run has started. Nothing changes yet.
      </p>
      {task === undefined ? null : <TaskProgress task={task} />}
    </div>
  );
}
