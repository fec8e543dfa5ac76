import type { ControlAction } from '../../../contract/actions/actions.ts';
import type { ControlBody } from '../../../contract/actions/control-body.ts';
import { textExcerpt, textFields, textTable } from '../../../platform/terminal/text-table.ts';
import { countText } from '../../../domain/count-text.ts';
import type { CtlContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { viewOf } from '../output/view.ts';
import { readReport } from '../reports.ts';
import { renderSchedules, renderTasks } from '../report-views.ts';

type Effect = (context: CtlContext, body: ControlBody) => Promise<string>;

const MOST_ROWS = '1000';
const MAX_TEXT = 60;

/** Reads what a destructive action would remove or stop, before anyone is asked. `release-cleanup` has a dry run instead. */
const EFFECTS: Readonly<Partial<Record<ControlAction, Effect>>> = {
  restart: async (context) => {
    const { items } = await readReport(context.api, 'task.list');
    const running = items.filter(({ status }) => status === 'running' || status === 'cancelling');
    const table = running.length === 0 ? '' : renderTasks(running, viewOf(context));
    return `restarts the daemon; ${countText(running.length, 'task')} ${running.length === 1 ? 'is' : 'are'} running\n${table}`;
  },
  'schedule-remove': async (context, { id = '' }) => {
    const report = await readReport(context.api, 'schedule.list', { id });
    if (report.items.length === 0) refuseMissing(`schedule ${id}`);
    return `removes this schedule\n${renderSchedules(report, viewOf(context))}`;
  },
  'task-cancel': async (context, { task_id: id = '' }) => {
    const { task } = await readReport(context.api, 'task.status', { task_id: id });
    return `cancels this task\n${renderTasks([task], viewOf(context))}`;
  },
  'translation-memory-resolve-conflict': async (context, body) => {
    const { winner_record_id: winner = '', translation_memory_path: path } = body;
    const query = { limit: MOST_ROWS, ...(path === undefined ? {} : { translation_memory_path: path }) };
    const { groups, total } = await readReport(context.api, 'translation.memory.conflicts', query);
    const group = groups.find(({ records }) => records.some(({ record_id: id }) => id === winner));
    if (group === undefined) {
      refuseMissing(`conflict with the record ${winner}`, total, groups.length);
      return `resolves the conflict with the record ${winner}\n`;
    }
    const rows = group.records.map((record) => [
      record.record_id === winner ? 'keeps' : 'supersedes',
      record.record_id,
      textExcerpt(record.target_text, MAX_TEXT),
    ]);
    return `resolves the conflict about "${textExcerpt(group.source_text, MAX_TEXT)}"\n${textTable(['', 'RECORD', 'TARGET'], rows)}`;
  },
  'translation-glossary-deprecate': async (context, body) =>
    `deprecates this term and forbids its wording\n${await termFields(context, body)}`,
  'translation-glossary-delete': async (context, body) =>
    `deletes this term\n${await termFields(context, body)}`,
};

/**
 * Describes what a destructive action would remove or stop.
 *
 * @returns lines, the first one a sentence without its subject; `null` when nothing can be said
 * @throws CtlFailure, also when the thing does not exist
 */
export async function describeEffect(
  context: CtlContext,
  action: ControlAction,
  body: ControlBody,
): Promise<string | null> {
  return (await EFFECTS[action]?.(context, body)) ?? null;
}

async function termFields(
  context: CtlContext,
  { term_id: id, glossary_path: path }: ControlBody,
): Promise<string> {
  const query = { limit: MOST_ROWS, ...(path === undefined ? {} : { glossary_path: path }) };
  const { items, total } = await readReport(context.api, 'translation.glossary.query', query);
  const term = items.find((each) => each.term_id === id);
  if (term === undefined) refuseMissing(`term ${id ?? ''}`, total, items.length);
  return textFields([
    ['term', id ?? ''],
    ...(term === undefined
      ? []
      : ([
          ['source', textExcerpt(term.source_term, MAX_TEXT)],
          ['translation', textExcerpt(term.recommended_translation, MAX_TEXT)],
          ['state', term.review_status],
        ] as const)),
  ]);
}

/** Refuses a thing that was not found, unless it may be among the rows beyond one answer. @throws CtlFailure */
function refuseMissing(what: string, total = 0, seen = 0): void {
  if (total > seen) return;
  throw new CtlFailure(CTL_EXITS.failed, `there is no ${what}; nothing was changed`);
}
