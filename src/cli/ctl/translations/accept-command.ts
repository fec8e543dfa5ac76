import { createFileTest, globProblem } from '../../../platform/config/glob-filter.ts';
import { printable } from '../../../platform/terminal/text-table.ts';
import { withProgress } from '../../output/progress-display.ts';
import { confirm } from '../actions/confirm.ts';
import { countText } from '../../../domain/count-text.ts';
import type { CtlContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure, type CtlExit } from '../ctl-exits.ts';
import { textOption } from '../ctl-options.ts';
import { printValue } from '../output/print-answer.ts';
import { eachTask, type ServiceTask } from './service-pages.ts';
import { writeUnitReport } from './unit-report.ts';
import { z } from 'zod';
import { postAction } from '../admin-api.ts';

const SHOWN_TASKS = 30;
/** There is one task for each file, and a release has fewer files. */
const MAX_TASKS = 200_000;
/** Tasks that the command takes: every unit has a target. The others are accepted unit by unit. */
const STATUSES = ['translated', 'published'] as const;

interface ReviewFields {
  readonly reviewer: string;
  readonly reason?: string;
}

interface AcceptOutcome {
  readonly task_id: string;
  readonly destination: string;
  /** `ready`: it could be accepted; `refused`: the daemon says in `detail` why it cannot. */
  readonly outcome: 'accepted' | 'ready' | 'refused' | 'not_sent';
  /** Units whose targets the review accepts. */
  readonly units: number;
  readonly detail: string;
}

/** The answer of a review. */
export const REVIEWED = z.looseObject({ written: z.int() });

/** Runs `translations accept`. @throws CtlFailure */
export async function runAccept(context: CtlContext): Promise<CtlExit> {
  const { args, stdin, stderr } = context;
  const fields = reviewOf(context);
  const isTrial = args.values['dry-run'] === true;
  const tasks = await chosenTasks(context);
  if (!isTrial && tasks.length > 0) {
    const units = tasks.reduce((sum, task) => sum + waitingUnits(task), 0);
    const effect = `accept accepts ${countText(units, 'unit')} of ${countText(tasks.length, 'task')}`;
    if (stdin.isTTY === true) stderr.write(`${effect}; --dry-run lists them\n`);
    await confirm(context, effect);
  }
  const { outcomes, failure } = await withProgress(context, async (display) => {
    return await acceptTasks(context, tasks, { fields, isTrial }, (done) =>
      display.show(`reviewing: ${done} of ${tasks.length} tasks`),
    );
  });
  await writeUnitReport(context, outcomes);
  const result = { dry_run: isTrial, tasks: outcomes, failure: failure?.message ?? null };
  await printValue(context, result, () => renderAccepted(outcomes, isTrial));
  if (failure !== null) throw failure;
  return outcomes.some(({ outcome }) => outcome === 'refused') ? CTL_EXITS.failed : CTL_EXITS.ok;
}

/** The fields of a review that the options give. @throws CtlFailure */
export function reviewOf({ args }: CtlContext): ReviewFields {
  const reviewer = textOption(args, 'reviewer') ?? '';
  const reason = textOption(args, 'reason');
  if (reviewer.trim() === '') {
    throw new CtlFailure(CTL_EXITS.usage, 'say who accepts the translations: --reviewer NAME');
  }
  return { reviewer, ...(reason === undefined ? {} : { reason }) };
}

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

async function namedTask(api: CtlContext['api'], taskId: string): Promise<ServiceTask> {
  for await (const task of eachTask(api, { task_id: taskId })) {
    if (STATUSES.some((status) => status === task.status)) return task;
    const message = `${taskId} (${task.destination}) is ${task.status}; only ${STATUSES.join(' and ')} tasks are accepted`;
    throw new CtlFailure(CTL_EXITS.failed, message);
  }
  throw new CtlFailure(CTL_EXITS.failed, `there is no translation task ${taskId}`);
}

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

/** Accepts tasks one by one: one that the daemon refuses does not stop the others, and another failure ends the work. */
async function acceptTasks(
  context: CtlContext,
  tasks: readonly ServiceTask[],
  { fields, isTrial }: { fields: ReviewFields; isTrial: boolean },
  progress: (done: number) => void,
): Promise<{ readonly outcomes: readonly AcceptOutcome[]; readonly failure: CtlFailure | null }> {
  const outcomes: AcceptOutcome[] = [];
  let failure: CtlFailure | null = null;
  for (const { task_id, destination } of tasks) {
    const named = { task_id, destination, units: 0, detail: '' };
    if (failure !== null) {
      outcomes.push({ ...named, outcome: 'not_sent' });
      continue;
    }
    try {
      const args = isTrial ? { args: ['dry_run=true'] } : {};
      const body = { task_id, status: 'proofread', ...fields, ...args };
      const { written } = await whileCopied(
        context,
        async () => await postAction(context.api, 'translation-proofread', body, REVIEWED),
      );
      outcomes.push({ ...named, outcome: isTrial ? 'ready' : 'accepted', units: written });
    } catch (error) {
      if (!(error instanceof CtlFailure)) throw error;
      const [detail = ''] = error.message.split('\n', 1);
      outcomes.push({ ...named, outcome: 'refused', detail });
      if (error.exit !== CTL_EXITS.failed) failure = error;
    }
    progress(outcomes.length);
  }
  return { outcomes, failure };
}

const MOST_TRIES = 5;
/** Between two tries. The copies of one acceptance are written in a few transactions. */
const RETRY_MS = 300;

/**
 * Sends a review again that was refused because units changed meanwhile: accepting one file gives its targets to equal units of
 * others, moments later. A task is accepted as it is when the review arrives, so that a later one means the same.
 *
 * @throws CtlFailure; the reason of the signal
 */
export async function whileCopied<Answer>(
  { clock, signal }: CtlContext,
  send: () => Promise<Answer>,
): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await send();
    } catch (error) {
      const isChanged = error instanceof CtlFailure && error.code === 'revision_changed';
      if (!isChanged || tries === MOST_TRIES) throw error;
      await clock.sleep(RETRY_MS, signal);
    }
  }
}
