import type { FeedRequest } from '../api/feed-pool.ts';
import type { Task } from '../api/wire.ts';
import type { App } from './app.ts';
import { reportFeed } from './read-report.ts';

/** Milliseconds between two requests of the list while a task runs. */
export const BUSY_MS = 1500;
const QUIET_MS = 5000;

/** Whether a task waits, runs or ends. */
export function isActive({ status }: { status: string }): boolean {
  return status === 'queued' || status === 'running' || status === 'cancelling';
}

/** Whether a task is a dry run, by its arguments or its result. */
export function isDryRun({ args, result }: Task): boolean {
  const { dry_run: flag, args: pairs } = args;
  return (
    flag === true || (Array.isArray(pairs) && pairs.includes('dry_run=true')) || result?.['dry_run'] === true
  );
}

/** The task that succeeded after this one had failed at the same; a repair also ends what a verification has found. */
export function laterSuccess(failed: Task, tasks: readonly Task[]): Task | null {
  const kinds = failed.kind === 'verify' ? ['verify', 'repair'] : [failed.kind];
  return (
    tasks.find(
      ({ kind, status, started_at: at }) =>
        status === 'succeeded' && kinds.includes(kind) && (at ?? 0) >= (failed.finished_at ?? Infinity),
    ) ?? null
  );
}

/** The list of tasks. */
export function taskListFeed(app: App): FeedRequest {
  return reportFeed(app, 'task.list', {
    everyMs: ({ items }) => (items.some(isActive) ? BUSY_MS : QUIET_MS),
  });
}

/** One task. */
export function taskFeed(app: App, id: string): FeedRequest {
  return reportFeed(app, 'task.status', {
    key: `task:${id}`,
    query: { task_id: id },
    everyMs: ({ task }) => (isActive(task) ? 1000 : 30_000),
  });
}
