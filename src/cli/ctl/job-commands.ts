import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { stringifyJsonExact } from '../../contract/json/json-exact.ts';
import { AcceptedAnswer } from '../../contract/schemas/answers/admin.ts';
import type { CtlCommand, CtlContext } from './ctl-context.ts';
import { CTL_EXITS, CtlFailure } from './ctl-exits.ts';
import { numberOption } from './ctl-options.ts';
import { renderDifferences } from './text-differences-view.ts';
import { isDataFormat } from './output/output-format.ts';
import { printData } from './output/print-answer.ts';
import { viewOf } from './output/view.ts';
import { renderTask } from './report-views.ts';
import { exitOfTask, watchTask, type SeenTask } from './task-watch.ts';
import { waitTimeoutMs } from './wait-timeout.ts';

/** A job to run once. */
interface JobRun {
  readonly group: 'res' | 'parse' | 'i18n';
  readonly action: string;
  /** `key=value` pairs. */
  readonly args: readonly string[];
}

/** Long enough that the schedule never runs by itself: the command starts it. */
const UNREACHED_DELAY_SECONDS = 86_400;

const DIFFERENCES_DEFAULT = 100;
const DIFFERENCES_MAX = 1000;
const MAX_OFFSET = Number.MAX_SAFE_INTEGER;

/** The commands that run a job once and wait for it. */
export const JOB_COMMANDS: readonly CtlCommand[] = [
  {
    name: 'parse',
    synopsis: '[--full]',
    summary: 'indexes the text of the current release, shows the progress and waits until it is done',
    words: [0, 0],
    options: ['full', 'wait-timeout'],
    optionTexts: [
      ['--full', 'parses every container again, also those whose bytes and rules did not change'],
      ['--wait-timeout SECONDS', 'longest wait; the task keeps running after it'],
    ],
    run: async (context) => {
      const action = context.args.values.full === true ? 'parse-full' : 'parse';
      const { task, answer } = await runJob(context, { group: 'parse', action, args: [] });
      if (isDataFormat(context.output)) await printData(context, answer);
      else context.stdout.write(renderTask(task, viewOf(context)));
      return exitOfTask(task);
    },
  },
  {
    name: 'texts diff',
    synopsis: 'FROM TO [--limit N] [--offset N]',
    summary: 'lists the text units that differ between a release and the previous one',
    words: [2, 2],
    options: ['limit', 'offset', 'wait-timeout'],
    optionTexts: [
      ['--limit N', `most differences to show; default ${DIFFERENCES_DEFAULT}`],
      ['--offset N', 'differences to leave out before the first one; default 0'],
      ['--wait-timeout SECONDS', 'longest wait; the task keeps running after it'],
    ],
    run: async (context) => {
      const [from = '', to = ''] = context.words;
      const bounds = { min: 1, max: DIFFERENCES_MAX, fallback: DIFFERENCES_DEFAULT };
      const limit = numberOption(context.args, 'limit', bounds);
      const offset = numberOption(context.args, 'offset', { min: 0, max: MAX_OFFSET, fallback: 0 });
      const args = [`from=${from}`, `to=${to}`, `offset=${offset}`, `limit=${limit}`];
      const { task, answer } = await runJob(context, { group: 'parse', action: 'text-differences', args });
      const isData = isDataFormat(context.output);
      if (isData) await printData(context, answer);
      if (task.status === 'succeeded') {
        const text = renderDifferences(task.result, offset);
        if (!isData) context.stdout.write(text);
      } else if (!isData) context.stdout.write(renderTask(task, viewOf(context)));
      return exitOfTask(task);
    },
  },
];

/**
 * Runs a job that has no action of its own: adds a schedule for one run, starts it, waits for its task and removes it.
 *
 * @throws CtlFailure
 */
export async function runJob(context: CtlContext, job: JobRun): Promise<SeenTask> {
  const { api } = context;
  const id = `ctl-${randomUUID()}`;
  const schedule = { id, ...job, max_runs: 1, delay_seconds: UNREACHED_DELAY_SECONDS };
  await api.post('schedule-add', stringifyJsonExact(schedule), randomUUID());
  try {
    const answer = await api.post('schedule-run', stringifyJsonExact({ id }), randomUUID());
    const taskId = AcceptedAnswer.schema
      .extend({ result: z.looseObject({ task_ids: z.array(z.string()).min(1) }) })
      .safeParse(answer.value).data?.result.task_ids[0];
    if (taskId === undefined) {
      throw new CtlFailure(CTL_EXITS.unreachable, 'the daemon sent an answer that this version cannot read');
    }
    return await watchTask(context, taskId, waitTimeoutMs(context.args));
  } finally {
    await removeSchedule(context, id);
  }
}

/** A schedule that stays behind never runs again, so a failure to remove it is only told. */
async function removeSchedule({ api, stderr }: CtlContext, id: string): Promise<void> {
  try {
    await api.post('schedule-remove', stringifyJsonExact({ id }), randomUUID());
  } catch (error) {
    if (!(error instanceof CtlFailure)) throw error;
    stderr.write(`the schedule ${id} could not be removed: ${error.message}\n`);
  }
}
