/** The things that a destructive action takes away, read before the reader is asked. An action with a dry run has that instead. */

import type { Fact } from '../components/text.tsx';
import type { App } from '../state/app.ts';
import { readReport } from '../state/read-report.ts';
import { duration, utc, words } from '../text/format.ts';

/** The effect of an action. */
export interface Effect {
  /** A sentence. */
  readonly text: string;
  readonly facts: readonly Fact[];
}

type Body = Readonly<Record<string, unknown>>;
type Read = (app: App, body: Body, about: string | undefined) => Promise<Effect>;

/** Most rows of one answer. */
const MOST_ROWS = '1000';

const EFFECTS: Readonly<Record<string, Read>> = {
  restart: async (app) => {
    const { items } = await readReport(app, 'task.list');
    const running = items.filter(({ status }) => status === 'running' || status === 'cancelling');
    if (running.length === 0) return { text: 'No task is running.', facts: [] };
    return {
      text: 'These tasks are running. They stop, and those that can continue do so after the restart:',
      facts: running.map(({ task_id: id, kind }) => [kind, id]),
    };
  },
  'schedule-remove': async (app, { id }) => {
    const { items } = await readReport(app, 'schedule.list', { id: text(id) });
    const [schedule] = items;
    if (schedule === undefined) return missing('schedule', id);
    const { action, every_seconds: every, next_run_unix_seconds: next, last_status: last } = schedule;
    return {
      text: 'It runs no more. A task of it that is running continues.',
      facts: [
        ['Runs', app.contract.jobs[action]?.title ?? action],
        ['Every', every === null ? 'once' : duration(Number(every))],
        ['Next run', next === null ? 'never' : utc(Number(next))],
        ['Last result', last === null ? null : words(last)],
      ],
    };
  },
  'task-cancel': async (app, { task_id: id }) => {
    const { task } = await readReport(app, 'task.status', { task_id: text(id) });
    return {
      text: 'It stops as soon as it can.',
      facts: [
        ['Task', task.kind],
        ['Status', words(task.status)],
        ['Asked for', utc(task.created_at)],
        ['By', task.schedule_id ?? task.reviewer],
      ],
    };
  },
  'translation-memory-resolve-conflict': async (app, { winner_record_id: winner }) => {
    const { groups } = await readReport(app, 'translation.memory.conflicts', { limit: MOST_ROWS });
    const group = groups.find(({ records }) => records.some(({ record_id: id }) => id === winner));
    if (group === undefined) return missing('conflict with the record', winner);
    return {
      text: `One translation of “${group.source_text}” stays trusted:`,
      facts: group.records.map(({ record_id: id, target_text: target }) => [
        id === winner ? 'Keeps' : 'Supersedes',
        target,
      ]),
    };
  },
  'translation-glossary-deprecate': async (app, body, about) =>
    await termEffect(app, body, about, 'Its wording becomes forbidden in translations.'),
  'translation-glossary-delete': async (app, body, about) =>
    await termEffect(app, body, about, 'It and its history are gone.'),
};

/**
 * Reads the effect of an action.
 *
 * @param about the name of its object, by which it is found among many
 * @returns `null` when nothing is known about it
 * @throws ApiFailure
 */
export async function readEffect(
  app: App,
  action: string,
  body: Body,
  about?: string,
): Promise<Effect | null> {
  return (await EFFECTS[action]?.(app, body, about)) ?? null;
}

async function termEffect(
  app: App,
  { term_id: id }: Body,
  source: string | undefined,
  meaning: string,
): Promise<Effect> {
  const query = { limit: MOST_ROWS, ...(source === undefined ? {} : { source_text: source }) };
  const { items, total } = await readReport(app, 'translation.glossary.query', query);
  const term = items.find((each) => each.term_id === id);
  // It may be among those beyond one answer.
  if (term === undefined) return total > items.length ? { text: meaning, facts: [] } : missing('term', id);
  return {
    text: meaning,
    facts: [
      ['Source term', term.source_term],
      ['Translation', term.recommended_translation],
      ['State', words(term.review_status)],
    ],
  };
}

function missing(what: string, id: unknown): Effect {
  return { text: `There is no ${what} ${text(id)} now.`, facts: [] };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
