import { useEffect } from 'preact/hooks';
import type { JSX } from 'preact';
import type { Report, Task } from '../api/wire.ts';
import { TaskProgress } from '../components/task-parts.tsx';
import { useApp } from '../state/app.ts';
import { isActive } from '../state/tasks.ts';

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
        The dry run is on its way. Nothing changes yet.
      </p>
      {task === undefined ? null : <TaskProgress task={task} />}
    </div>
  );
}
