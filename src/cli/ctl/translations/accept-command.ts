import { createFileTest, globProblem } from '../../../platform/config/glob-filter.ts';
import { printable } from '../../../platform/terminal/text-table.ts';
import { createProgressDisplay } from '../../output/progress-display.ts';
import { confirm } from '../actions/confirm.ts';
import { countText } from '../../../domain/count-text.ts';
import type { CtlContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure, type CtlExit } from '../ctl-exits.ts';
import { textOption } from '../ctl-options.ts';
import { isDataFormat } from '../output/output-format.ts';
import { printValue } from '../output/print-answer.ts';
import { acceptTasks, type AcceptOutcome, type AcceptResult, type ReviewFields } from './accept-tasks.ts';
import { eachTask, type ServiceTask } from './service-pages.ts';
import { writeUnitReport } from './unit-report.ts';

/** Tasks that a terminal shows. */
const SHOWN_TASKS = 30;
/** A task stands for a file, and a release has fewer. */
const MAX_TASKS = 200_000;
/** Tasks that the command takes: every unit has a target. The others are accepted unit by unit. */
const STATUSES = ['translated', 'published'] as const;

/** Runs `translations accept`. @throws CtlFailure */
export async function runAccept(context: CtlContext): Promise<CtlExit> {
  const { api, args, stdin, stderr, clock, stdout } = context;
  const fields = reviewOf(context);
  const isTrial = args.values['dry-run'] === true;
  const tasks = await chosenTasks(context);
  if (!isTrial && tasks.length > 0) {
    const units = tasks.reduce((sum, task) => sum + waitingUnits(task), 0);
    const effect = `accept accepts ${countText(units, 'unit')} of ${countText(tasks.length, 'task')}`;
    if (stdin.isTTY === true) stderr.write(`${effect}; --dry-run lists them\n`);
    await confirm(context, effect);
  }
  const progress = createProgressDisplay(stderr, clock);
  let result: AcceptResult;
  try {
    const show = (done: number): void => progress.show(`reviewing: ${done} of ${tasks.length} tasks`);
    result = await acceptTasks(api, tasks, { fields, isTrial, progress: show });
  } finally {
    progress.end();
  }
  const { outcomes, failure } = result;
  await writeUnitReport(context, outcomes);
  if (isDataFormat(context.output)) {
    await printValue(context, { dry_run: isTrial, tasks: outcomes, failure: failure?.message ?? null });
  } else stdout.write(renderAccepted(outcomes, isTrial));
  if (failure !== null) throw failure;
  return outcomes.some(({ outcome }) => outcome === 'refused') ? CTL_EXITS.failed : CTL_EXITS.ok;
}

function reviewOf({ args }: CtlContext): ReviewFields {
  const reviewer = textOption(args, 'reviewer') ?? '';
  const reason = textOption(args, 'reason');
  if (reviewer.trim() === '') {
    throw new CtlFailure(CTL_EXITS.usage, 'say who accepts the translations: --reviewer NAME');
  }
  return { reviewer, ...(reason === undefined ? {} : { reason }) };
}

/** The tasks with units to accept that `--task` or `--destination` choose. @throws CtlFailure */
async function chosenTasks({ api, args }: CtlContext): Promise<readonly ServiceTask[]> {
  const taskId = textOption(args, 'task');
  const glob = textOption(args, 'destination');
  if (taskId !== undefined && glob !== undefined) {
    throw new CtlFailure(CTL_EXITS.usage, 'give either --task or --destination, not both');
  }
  if (taskId !== undefined) return [await namedTask(api, taskId)];
  const problem = glob === undefined ? null : globProblem(glob);
  if (problem !== null) throw new CtlFailure(CTL_EXITS.usage, `--destination ${glob ?? ''}: ${problem}`);
  const isChosen = createFileTest({ include: glob === undefined ? [] : [glob], exclude: [] });
  const tasks: ServiceTask[] = [];
  for (const status of STATUSES) {
    for await (const task of eachTask(api, { status })) {
      if (isChosen(task.destination) && waitingUnits(task) > 0) tasks.push(task);
      if (tasks.length <= MAX_TASKS) continue;
      throw new CtlFailure(CTL_EXITS.usage, `more than ${MAX_TASKS} tasks fit; choose with --destination`);
    }
  }
  return tasks;
}

/** @throws CtlFailure when there is no such task, or when it cannot be accepted as a whole */
async function namedTask(api: CtlContext['api'], taskId: string): Promise<ServiceTask> {
  for await (const task of eachTask(api, { task_id: taskId })) {
    if (STATUSES.some((status) => status === task.status)) return task;
    const message = `${taskId} (${task.destination}) is ${task.status}; only ${STATUSES.join(' and ')} tasks are accepted`;
    throw new CtlFailure(CTL_EXITS.failed, message);
  }
  throw new CtlFailure(CTL_EXITS.failed, `there is no translation task ${taskId}`);
}

/** The units that a review of the whole task accepts. */
function waitingUnits({ unit_counts: counts }: ServiceTask): number {
  return (counts['draft'] ?? 0) + (counts['translated'] ?? 0);
}

function renderAccepted(outcomes: readonly AcceptOutcome[], isTrial: boolean): string {
  // A refusal is never hidden behind tasks that are fine.
  const rows = outcomes.toSorted((a, b) => rankOf(a) - rankOf(b));
  const lines = rows.slice(0, SHOWN_TASKS).map(({ task_id: id, destination, outcome, units, detail }) => {
    const what = detail === '' ? countText(units, 'unit') : detail;
    return `${outcome}: ${id} ${printable(`(${destination}): ${what}`)}\n`;
  });
  const more = outcomes.length - SHOWN_TASKS;
  const numbers = [...Map.groupBy(rows, ({ outcome }) => outcome)].map(
    ([name, of]) => `${countText(of.length, 'task')} ${name}`,
  );
  return [
    ...lines,
    ...(more > 0 ? [`... and ${more} more\n`] : []),
    numbers.length === 0 ? 'no task that fits has units to accept\n' : `${numbers.join(', ')}\n`,
    ...(isTrial ? ['nothing was changed: --dry-run\n'] : []),
  ].join('');
}

function rankOf({ outcome }: AcceptOutcome): number {
  return outcome === 'refused' ? 0 : 1;
}
