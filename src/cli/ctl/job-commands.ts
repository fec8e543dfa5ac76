import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { stringifyJsonExact } from '../../contract/json/json-exact.ts';
import { postAction } from './admin-api.ts';
import type { CtlCommand, CtlContext } from './ctl-context.ts';
import { CTL_EXITS, CtlFailure } from './ctl-exits.ts';
import { numberOption } from './ctl-options.ts';
import { showTask, watchTask, type SeenTask } from './task-watch.ts';
import { countText } from '../../domain/count-text.ts';
import { excerptAround, textExcerpt, textTable } from '../../platform/terminal/text-table.ts';

/** Long enough that the schedule never starts the job: the command does. */
const UNREACHED_DELAY_SECONDS = 86_400;

const STARTED = z.looseObject({ task_ids: z.array(z.string()).min(1) });

const DIFFERENCES_DEFAULT = 100;
const DIFFERENCES_MAX = 1000;
const MAX_OFFSET = Number.MAX_SAFE_INTEGER;

/** The commands that run a job once and wait for it. */
export const JOB_COMMANDS: readonly CtlCommand[] = [
  {
    name: 'parse',
    synopsis: '[--full]',
    summary: 'indexes the text of the current release, shows the progress and waits until it is done',
    optionTexts: [
      ['--full', 'parses every container again, also those whose bytes and rules did not change'],
      ['--wait-timeout SECONDS', 'longest wait; the task keeps running after it'],
    ],
    run: async (context) => {
      const action = context.args.values.full === true ? 'parse-full' : 'parse';
      return await showTask(context, await runJob(context, { group: 'parse', action, args: [] }));
    },
  },
  {
    name: 'texts diff',
    synopsis: 'FROM TO [--limit N] [--offset N]',
    summary: 'lists the text units that differ between a release and the previous one',
    words: [2, 2],
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
      const seen = await runJob(context, { group: 'parse', action: 'text-differences', args });
      return await showTask(context, seen, (result) => renderDifferences(result, offset));
    },
  },
  {
    name: 'glossary mine',
    synopsis: '[KEY=VALUE]...',
    summary:
      'finds terms in the texts of the release and adds them as drafts; KEY is min_count, limit, provider, dry_run, max_tokens or max_cost',
    words: [0, 6],
    optionTexts: [['--wait-timeout SECONDS', 'longest wait; the task keeps running after it']],
    run: async (context) => {
      const seen = await runJob(context, { group: 'i18n', action: 'term-mine', args: context.words });
      return await showTask(context, seen, renderTerms);
    },
  },
];

/**
 * Runs a job that has no action of its own: adds a schedule for one run, starts it, waits for its task and removes it.
 *
 * @throws CtlFailure
 */
export async function runJob(
  context: CtlContext,
  job: {
    readonly group: 'res' | 'parse' | 'i18n';
    readonly action: string;
    /** `key=value` pairs. */
    readonly args: readonly string[];
  },
): Promise<SeenTask> {
  const { api } = context;
  const id = `ctl-${randomUUID()}`;
  const schedule = { id, ...job, max_runs: 1, delay_seconds: UNREACHED_DELAY_SECONDS };
  await api.post('schedule-add', stringifyJsonExact(schedule), randomUUID());
  try {
    const {
      task_ids: [taskId = ''],
    } = await postAction(api, 'schedule-run', { id }, STARTED);
    return await watchTask(context, taskId);
  } finally {
    await removeSchedule(context, id);
  }
}

const MINED = z.looseObject({
  dry_run: z.boolean(),
  added: z.int(),
  known: z.int(),
  ordinary: z.int(),
  usage: z
    .looseObject({
      requests: z.int(),
      prompt_tokens: z.int(),
      answer_tokens: z.int(),
      cost: z.number(),
    })
    .optional(),
  fits: z.boolean().nullish(),
  terms: z.array(
    z.looseObject({
      source_term: z.string(),
      category: z.string(),
      count: z.int(),
      contexts: z.array(z.string()),
    }),
  ),
});

/** Renders the terms that a run found. @throws CtlFailure when this version cannot read the result */
function renderTerms(result: unknown): string {
  const parsed = MINED.safeParse(result);
  if (!parsed.success) {
    throw new CtlFailure(CTL_EXITS.unreachable, 'the daemon sent terms that this version cannot read');
  }
  const { dry_run: isDryRun, added, known, ordinary, usage, fits, terms } = parsed.data;
  const rows = terms.map(({ source_term: term, category, count, contexts: [context = ''] }) => [
    term,
    category === '' ? '-' : category,
    String(count),
    excerptAround(context, term, MAX_TEXT),
  ]);
  const found = `${countText(known, 'found term is', 'found terms are')} in the Glossary already, ${countText(ordinary, 'is an ordinary word', 'are ordinary words')}`;
  const excess = fits === false ? ', which is more than the cap allows' : '';
  const estimate =
    usage === undefined ? '' : `; a model would sort them with about ${shownUsage(usage)}${excess}`;
  const summary = isDryRun
    ? `${countText(terms.length, 'term')} found; nothing was added${estimate}\n`
    : `${countText(added, 'draft')} added for a person to approve (${found})\n`;
  return textTable(['TERM', 'CATEGORY', 'TEXTS', 'FOR EXAMPLE'], rows) + summary;
}

function shownUsage({
  requests,
  prompt_tokens: prompts,
  answer_tokens: answers,
  cost,
}: NonNullable<z.output<typeof MINED>['usage']>): string {
  return `${countText(requests, 'request')}, ${countText(prompts + answers, 'token')}, and a cost of ${Number(cost.toPrecision(3))}`;
}

/** A schedule that stays behind never runs again, so a failure to remove it is only reported. */
async function removeSchedule({ api, stderr }: CtlContext, id: string): Promise<void> {
  try {
    await api.post('schedule-remove', stringifyJsonExact({ id }), randomUUID());
  } catch (error) {
    if (!(error instanceof CtlFailure)) throw error;
    stderr.write(`the schedule ${id} could not be removed: ${error.message}\n`);
  }
}

const SIDE = z.looseObject({ destination: z.string(), field_path: z.string(), source_text: z.string() });

const RESULT = z.looseObject({
  from: z.string(),
  to: z.string(),
  available: z.boolean(),
  total: z.int(),
  items: z.array(z.looseObject({ change: z.string(), unit: SIDE.nullable(), previous: SIDE.nullable() })),
});

const MAX_TEXT = 40;

/**
 * Renders the differences between two releases.
 *
 * @param result of the task
 * @param offset number of differences before the first one of the result
 * @throws CtlFailure when the releases were not compared, and when this version cannot read the result
 */
function renderDifferences(result: unknown, offset: number): string {
  const parsed = RESULT.safeParse(result);
  if (!parsed.success) {
    throw new CtlFailure(CTL_EXITS.unreachable, 'the daemon sent differences that this version cannot read');
  }
  const { from, to, available, total, items } = parsed.data;
  if (!available) {
    const advice =
      'name a release and the one that was indexed before it, while both are kept; slipway ctl releases lists them';
    throw new CtlFailure(CTL_EXITS.failed, `${to} was not compared with ${from}: ${advice}`);
  }
  if (total === 0) return `the text of ${to} is that of ${from}\n`;
  const rows = items.map(({ change, unit, previous }) => {
    const side = unit ?? previous;
    return [change, side?.destination ?? '', side?.field_path ?? '', shorten(previous), shorten(unit)];
  });
  const shown = offset + items.length;
  const more = total > shown ? `${total - shown} more; --offset ${shown} shows them\n` : '';
  return `${textTable(['CHANGE', 'DESTINATION', 'FIELD', 'BEFORE', 'AFTER'], rows)}${total} differences\n${more}`;
}

function shorten(side: { readonly source_text: string } | null): string {
  return side === null ? '-' : textExcerpt(side.source_text, MAX_TEXT);
}
