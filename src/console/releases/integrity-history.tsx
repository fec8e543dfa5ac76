import { isRecord } from '../../domain/is-record.ts';
import type { JSX } from 'preact';
import type { Task } from '../api/wire.ts';
import { TaskBadge, TaskLink } from '../components/task-parts.tsx';
import { Time } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import { reportState } from '../state/read-report.ts';
import { count } from '../text/format.ts';

/** The checks and repairs of a release that the daemon still has the tasks of, newest first. */
export function IntegrityHistory({ releaseId }: { releaseId: string }): JSX.Element | null {
  const tasks = reportState(useApp(), 'task.list').value;
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

/** A task that read or repaired the bytes of a release. */
interface ReleaseCheck {
  readonly task: Task;
  readonly outcome: string;
}

const KINDS: ReadonlySet<string> = new Set(['verify', 'repair', 'damage-repair']);
const MOST_CHECKS = 10;

/** @param tasks newest first */
export function checksOf(tasks: readonly Task[], releaseId: string): readonly ReleaseCheck[] {
  return tasks
    .filter(({ kind }) => KINDS.has(kind))
    .flatMap((task) => {
      const part = partOf(task, releaseId);
      return part === null ? [] : [{ task, outcome: outcomeOf(part) }];
    })
    .slice(0, MOST_CHECKS);
}

function partOf({ result, args }: Task, releaseId: string): Readonly<Record<string, unknown>> | null {
  const releases = result?.['releases'];
  const rows: readonly unknown[] = Array.isArray(releases) ? releases : [];
  const found = rows.find((row) => isRecord(row) && row['release_id'] === releaseId);
  if (isRecord(found)) return found;
  return isRecord(args) && args['release_id'] === releaseId ? {} : null;
}

function outcomeOf(part: Readonly<Record<string, unknown>>): string {
  return ['checked', 'damaged', 'repaired', 'failed']
    .flatMap((name) => {
      const value = part[name];
      return typeof value === 'number' ? [`${count(value)} ${name}`] : [];
    })
    .join(', ');
}
