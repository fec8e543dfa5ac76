import type { JSX } from 'preact';
import type { Report } from '../api/wire.ts';
import { TaskBadge, TaskLink } from '../components/task-parts.tsx';
import { Time } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import { checksOf } from './release-checks.ts';

/** The checks and repairs of a release that the daemon still has the tasks of, newest first. */
export function IntegrityHistory({ releaseId }: { readonly releaseId: string }): JSX.Element | null {
  const tasks = useApp().pool.state<Report<'task.list'>>('task.list').value;
  if (tasks === null) return null;
  const checks = checksOf(tasks.items, releaseId);
  if (checks.length === 0) {
    return <p class="muted">No recent task has checked or repaired this release.</p>;
  }
  return (
    <>
      <h3>Checks and repairs</h3>
      <ul class="rows">
        {checks.map(({ task, outcome }) => (
          <li key={task.task_id}>
            <TaskLink task={task} /> <TaskBadge status={task.status} /> <span>{outcome}</span>{' '}
            <Time at={task.finished_at ?? task.created_at} />
          </li>
        ))}
      </ul>
    </>
  );
}
