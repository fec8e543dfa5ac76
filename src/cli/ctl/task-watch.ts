import { endedAs } from '../../domain/translation/run-brief.ts';
import { renderProgress } from '../output/progress-line.ts';
import { withProgress } from '../output/progress-display.ts';
import type { AdminAnswer } from './admin-api.ts';
import type { CtlContext } from './ctl-context.ts';
import { CTL_EXITS, CtlFailure, isTransient, type CtlExit } from './ctl-exits.ts';
import { numberOption } from './ctl-options.ts';
import { parseReport, reportPath } from './reports.ts';
import { printData } from './output/print-answer.ts';
import { isDataFormat, viewOf } from './output/view.ts';
import { renderTask } from './report-views.ts';
import type { TaskView } from './task-brief.ts';

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2000;
const LONGEST_TIMEOUT_SECONDS = 7 * 86_400;
/** Failures in a row before the wait is given up; the daemon may be restarting. */
const MAX_FAILURES = 10;

/** The last known state of a task, and the answer that held it. */
export interface SeenTask {
  readonly task: TaskView;
  readonly answer: AdminAnswer;
}

/** Reads one task. @throws CtlFailure */
export async function readTask({ api }: CtlContext, taskId: string): Promise<SeenTask> {
  const answer = await api.get(reportPath('task.status'), { task_id: taskId });
  return { task: parseReport('task.status', answer).task, answer };
}

/** Whether a task has ended. */
export function hasEnded({ status }: TaskView): boolean {
  return status === 'succeeded' || status === 'failed' || status === 'cancelled';
}

/** The exit code that an ended task gives. */
export function exitOfTask(task: TaskView): CtlExit {
  const end = endedAs(task);
  if (end === 'partly') return CTL_EXITS.partly;
  return end === 'succeeded' ? CTL_EXITS.ok : CTL_EXITS.failed;
}

/** Waits until a task has ended, and shows its progress. @throws CtlFailure, also when `--wait-timeout` has passed */
export async function watchTask(context: CtlContext, taskId: string): Promise<SeenTask> {
  const { args, clock, signal } = context;
  const bounds = { min: 0, max: LONGEST_TIMEOUT_SECONDS, fallback: Infinity };
  const end = clock.monotonic() + numberOption(args, 'wait-timeout', bounds) * 1000;
  let wait = FIRST_WAIT_MS;
  let failures = 0;
  return await withProgress(context, async (display) => {
    for (;;) {
      const seen = await readTask(context, taskId).catch((error: unknown) => {
        failures += 1;
        if (!isTransient(error) || failures >= MAX_FAILURES) throw error;
        return null;
      });
      if (seen !== null) {
        failures = 0;
        if (hasEnded(seen.task)) return seen;
        const { kind, status, progress } = seen.task;
        display.show(progress === null ? `${kind} ${status}` : renderProgress(progress), progress?.phase);
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
  });
}

/**
 * Shows an ended task.
 *
 * @param renderResult the text for the result of one that succeeded; default its fields
 * @returns the exit code
 */
export async function showTask(
  context: CtlContext,
  { task, answer }: SeenTask,
  renderResult: ((result: object) => string) | null = null,
): Promise<CtlExit> {
  const isData = isDataFormat(context.output);
  if (isData) await printData(context, answer);
  const text =
    task.status === 'succeeded' && renderResult !== null
      ? renderResult(task.result ?? {})
      : renderTask(task, viewOf(context));
  if (!isData) context.stdout.write(text);
  return exitOfTask(task);
}
