import { renderProgress } from '../output/progress-line.ts';
import { createProgressDisplay } from '../output/progress-display.ts';
import type { AdminAnswer } from './admin-api.ts';
import type { CtlContext } from './ctl-context.ts';
import { CTL_EXITS, CtlFailure, type CtlExit } from './ctl-exits.ts';
import { parseReport } from './read-report.ts';
import { reportPath } from './report-path.ts';
import type { TaskView } from './task-outcome.ts';

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2000;
/** Failures in a row before the wait is given up; the daemon may be restarting. */
const MAX_FAILURES = 10;

/** The last known state of a task, and the answer that held it. */
export interface SeenTask {
  readonly task: TaskView;
  readonly answer: AdminAnswer;
}

/** Reads one task. @throws CtlFailure */
export async function readTask({ api }: Pick<CtlContext, 'api'>, taskId: string): Promise<SeenTask> {
  const answer = await api.get(reportPath('task.status'), { task_id: taskId });
  return { task: parseReport('task.status', answer).task, answer };
}

/** Whether a task has ended. */
export function hasEnded({ status }: Pick<TaskView, 'status'>): boolean {
  return status === 'succeeded' || status === 'failed' || status === 'cancelled';
}

/** The exit code that an ended task gives. */
export function exitOfTask({ status }: Pick<TaskView, 'status'>): CtlExit {
  return status === 'succeeded' ? CTL_EXITS.ok : CTL_EXITS.failed;
}

/**
 * Waits until a task has ended, and shows its progress.
 *
 * @param timeoutMs `null` for no limit
 * @throws CtlFailure, also on a timeout
 */
export async function watchTask(
  context: CtlContext,
  taskId: string,
  timeoutMs: number | null,
): Promise<SeenTask> {
  const { clock, signal } = context;
  const progress = createProgressDisplay(context.stderr, clock);
  const end = timeoutMs === null ? Infinity : clock.monotonic() + timeoutMs;
  let wait = FIRST_WAIT_MS;
  let failures = 0;
  try {
    for (;;) {
      const seen = await readTask(context, taskId).catch((error: unknown) => {
        failures += 1;
        if (!isTransient(error) || failures >= MAX_FAILURES) throw error;
        return null;
      });
      if (seen !== null) {
        failures = 0;
        if (hasEnded(seen.task)) return seen;
        progress.show(
          seen.task.progress === null
            ? `${seen.task.kind} ${seen.task.status}`
            : renderProgress(seen.task.progress),
          seen.task.progress?.phase,
        );
      }
      if (clock.monotonic() >= end) {
        throw new CtlFailure(
          CTL_EXITS.unfinished,
          `Timed out waiting; the task is still running. See "task show ${taskId}".`,
        );
      }
      await clock.sleep(Math.min(wait, Math.max(0, end - clock.monotonic())), signal);
      wait = Math.min(LONGEST_WAIT_MS, wait * 2);
    }
  } finally {
    progress.end();
  }
}

/** Whether a retry may help, because the daemon or the service may be restarting. */
export function isTransient(error: unknown): boolean {
  return (
    error instanceof CtlFailure &&
    (error.exit === CTL_EXITS.unavailable || error.exit === CTL_EXITS.unreachable)
  );
}
