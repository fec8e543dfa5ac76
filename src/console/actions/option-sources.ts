/** The values that exist for the fields of a form, from the reports. */

import type { Report } from '../api/wire.ts';
import type { PickerOption, PickerSource } from '../components/picker.tsx';
import type { Field } from '../forms/form-model.ts';
import type { App } from '../state/app.ts';
import { readReport } from '../state/read-report.ts';
import { isActive } from '../state/tasks.ts';
import { counted, words } from '../text/format.ts';

type Load = (app: App, typed: string) => Promise<readonly PickerOption[]>;

const MOST_ROWS = '200';
/** Longest part of a text in a list, UTF-16 units. */
const MAX_TEXT = 60;

const SOURCES = {
  tasks: async (app) =>
    (await readReport(app, 'task.list')).items
      .filter(isActive)
      .map(({ task_id: value, kind, status }) => ({ value, text: `${kind}, ${status}` })),
  schedules: async (app) =>
    (await readReport(app, 'schedule.list')).items.map(({ id, action }) => ({
      value: id,
      text: app.contract.jobs[action]?.title ?? action,
    })),
  official: async (app) => releases(await readReport(app, 'release.list', { channel: 'official' })),
  localized: async (app) => releases(await readReport(app, 'release.list', { channel: 'localized' })),
  releases: async (app) => releases(await readReport(app, 'release.list')),
  translationTasks: async (app) =>
    (await readReport(app, 'translation.tasks', { limit: MOST_ROWS })).items.map((task) => ({
      value: task.task_id,
      text: [task.destination, task.archive_entry, task.status].filter(Boolean).join(' · '),
    })),
  terms: async (app, typed) =>
    (
      await readReport(app, 'translation.glossary.query', {
        limit: '50',
        ...(typed === '' ? {} : { source_text: typed }),
      })
    ).items.map((term) => ({
      value: term.term_id,
      text: `${short(term.source_term)} → ${short(term.recommended_translation)}, ${term.review_status}`,
    })),
  records: async (app, typed) =>
    typed.trim() === ''
      ? []
      : (await readReport(app, 'translation.memory.query', { source_text: typed, limit: '50' })).matches.map(
          ({ record }) => recordOption(record),
        ),
  conflicting: async (app) =>
    (await readReport(app, 'translation.memory.conflicts', { limit: MOST_ROWS })).groups.flatMap(
      ({ records }) => records.map(recordOption),
    ),
  sourceLanguages: async (app) => await languages(app, 'source_language'),
  targetLanguages: async (app) => await languages(app, 'target_language'),
  categories: async (app) => {
    const { items } = await readReport(app, 'translation.glossary.query', { limit: '1000' });
    const counts = Map.groupBy(items, ({ category }) => category);
    return [...counts]
      .filter(([category]) => category !== '')
      .map(([value, terms]) => ({ value, text: counted(terms.length, 'term') }));
  },
} satisfies Record<string, Load>;

type SourceName = keyof typeof SOURCES;

const SEARCHES: ReadonlySet<SourceName> = new Set(['terms', 'records']);

const BY_FIELD: Readonly<Record<string, SourceName>> = {
  task_id: 'translationTasks',
  release_id: 'releases',
  from: 'official',
  to: 'official',
  localized_release_id: 'localized',
  term_id: 'terms',
  record_id: 'records',
  supersede_record_id: 'records',
  winner_record_id: 'conflicting',
  source_language: 'sourceLanguages',
  target_language: 'targetLanguages',
  category: 'categories',
};

const BY_ACTION: Readonly<Record<string, Readonly<Record<string, SourceName | null>>>> = {
  'task-cancel': { task_id: 'tasks' },
  'schedule-update': { id: 'schedules' },
  'schedule-remove': { id: 'schedules' },
  'schedule-run': { id: 'schedules' },
  'release-cleanup': { id: 'official' },
  'localized-publish': { localized_release_id: null },
  'translation-glossary-add': { term_id: null },
};

/** The source of the values of a field; `null` where any text is as good. */
export function optionSource(app: App, action: string, { name }: Field): PickerSource | null {
  const chosen = BY_ACTION[action]?.[name];
  const source = chosen === undefined ? BY_FIELD[name] : chosen;
  if (source === undefined || source === null) return null;
  const load: Load = SOURCES[source];
  return { key: source, isSearch: SEARCHES.has(source), load: async (typed) => await load(app, typed) };
}

const GROUPS: Readonly<Record<string, string>> = {
  res: 'Releases',
  parse: 'Index of texts',
  i18n: 'Translation',
};

/** A value of a choice in words; `null` for the words of the value itself. */
export function optionText(app: App, { name }: Field, option: string): string | null {
  if (name === 'group') return GROUPS[option] ?? null;
  return name === 'action' ? (app.contract.jobs[option]?.title ?? null) : null;
}

function releases({ releases: rows }: Report<'release.list'>): readonly PickerOption[] {
  return rows.map(({ release_id: value, channel, state }) => ({
    value,
    text: `${channel}, ${words(state)}`,
  }));
}

function recordOption({
  record_id: value,
  source_text: source,
  target_text: target,
  state,
}: Report<'translation.memory.query'>['matches'][number]['record']): PickerOption {
  return { value, text: `${short(source)} → ${short(target)}, ${state}` };
}

async function languages(
  app: App,
  side: 'source_language' | 'target_language',
): Promise<readonly PickerOption[]> {
  const [glossary, memory] = await Promise.all([
    readReport(app, 'translation.glossary.summary'),
    readReport(app, 'translation.memory.summary'),
  ]);
  const tags = new Set([...glossary.pairs, ...memory.pairs].map((pair) => pair[side]));
  return [...tags].map((value) => ({ value, text: '' }));
}

function short(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}
