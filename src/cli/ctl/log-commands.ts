import { REPORTS } from '../../contract/reports/reports.ts';
import type { CtlCommand, CtlContext } from './ctl-context.ts';
import { CTL_EXITS, CtlFailure, type CtlExit, isTransient } from './ctl-exits.ts';
import { numberOption, textOption } from './ctl-options.ts';
import { isDataFormat } from './output/view.ts';
import { printAnswer } from './output/print-answer.ts';
import { parseReport, readReport, type ReportOf, reportPath } from './reports.ts';
import { renderLogLine } from './report-views.ts';
import { exitOfTask, hasEnded, readTask } from './task-watch.ts';

/** Maximum number of lines that daemon.logs returns. Two consecutive answers must overlap, or lines would be lost. */
const MAX_LINES = 2000;
const DEFAULT_LINES = 200;
const FOLLOW_EVERY_MS = 1000;

type DaemonLines = ReportOf<'daemon.logs'>['lines'];

/** `logs` */
export const LOGS_COMMAND: CtlCommand = {
  name: 'logs',
  synopsis: '[--tail N] [--task TASK] [-f]',
  summary: 'shows the log of the daemon, or of one task',
  optionTexts: [
    ['--tail N', 'number of newest lines to start with; 1 to 2000, default 200'],
    [
      '--task TASK',
      'shows the log of this task; with -f the command ends when the task does, and exits with 0 only if it succeeded',
    ],
    ['-f, --follow', 'keeps showing new lines; not with -o json or yaml'],
  ],
  run: async (context) => {
    const { args, output } = context;
    const follow = args.values.follow === true;
    if (follow && isDataFormat(output)) {
      throw new CtlFailure(CTL_EXITS.usage, `-f cannot be used with -o ${output}; leave one of them out`);
    }
    const taskId = textOption(args, 'task');
    const tail = numberOption(args, 'tail', { min: 1, max: MAX_LINES, fallback: DEFAULT_LINES });
    if (taskId !== undefined) return await showTaskLog(context, taskId, tail, follow);
    if (follow) return await followDaemonLog(context, tail);
    const answer = await context.api.get(reportPath('daemon.logs'), { tail: String(tail) });
    await printAnswer(context, answer, REPORTS['daemon.logs'].answer.schema, {
      render: ({ lines }) => renderLines(context, lines),
    });
    return CTL_EXITS.ok;
  },
};

/**
 * Returns the lines of `next` that are not in `previous`. Both are windows on one log, oldest first: the end of one
 * overlaps the beginning of the other.
 */
export function newLines<T>(previous: readonly T[], next: readonly T[]): readonly T[] {
  const [before, after] = [previous, next].map((lines) => lines.map((line) => JSON.stringify(line)));
  if (before === undefined || after === undefined) return next;
  for (let shift = 0; shift < before.length; shift += 1) {
    const overlap = before.length - shift;
    if (overlap <= after.length && before.every((line, at) => at < shift || line === after[at - shift])) {
      return next.slice(overlap);
    }
  }
  return next;
}

async function followDaemonLog(context: CtlContext, tail: number): Promise<CtlExit> {
  const readLines = async (): Promise<DaemonLines> =>
    (await readReport(context.api, 'daemon.logs', { tail: String(MAX_LINES) })).lines;
  let seen: DaemonLines | null = null;
  for (;;) {
    const lines: DaemonLines | null = await askAgain(context, readLines, seen !== null);
    if (lines !== null) {
      const fresh = seen === null ? lines.slice(-tail) : newLines(seen, lines);
      context.stdout.write(renderLines(context, fresh));
      seen = lines;
    }
    await context.clock.sleep(FOLLOW_EVERY_MS, context.signal);
  }
}

async function showTaskLog(
  context: CtlContext,
  taskId: string,
  tail: number,
  follow: boolean,
): Promise<CtlExit> {
  let next = 0;
  let begun = false;
  for (;;) {
    // Read before the log, which then holds everything that an ended task wrote.
    const seen = follow ? await askAgain(context, async () => await readTask(context, taskId), begun) : null;
    const answer = await askAgain(
      context,
      async () => await context.api.get(reportPath('task.logs'), { task_id: taskId }),
      begun,
    );
    if (answer !== null && !follow) {
      await printAnswer(context, answer, REPORTS['task.logs'].answer.schema, {
        render: ({ lines }) => renderLines(context, lines.slice(-tail)),
      });
      return CTL_EXITS.ok;
    }
    if (answer !== null) {
      const lines = parseReport('task.logs', answer).lines;
      const fresh = lines.slice(begun ? 0 : -tail).filter(({ seq }) => seq >= next);
      context.stdout.write(renderLines(context, fresh));
      next = Math.max(next, ...lines.map(({ seq }) => seq + 1));
      begun = true;
      if (seen !== null && hasEnded(seen.task)) return exitOfTask(seen.task);
    }
    await context.clock.sleep(FOLLOW_EVERY_MS, context.signal);
  }
}

function renderLines({ painter }: CtlContext, lines: readonly Parameters<typeof renderLogLine>[0][]): string {
  return lines.map((line) => renderLogLine(line, painter)).join('');
}

/** Retries after the first lines were shown, because the daemon may be restarting. Each failure goes to standard error. */
async function askAgain<T>(context: CtlContext, ask: () => Promise<T>, patient: boolean): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if (!patient || !isTransient(error)) throw error;
    context.stderr.write(`${(error as CtlFailure).message}\n`);
    return null;
  }
}
