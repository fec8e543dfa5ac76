/** The things that the palette finds. */

import type { Report, ReportName } from '../api/wire.ts';
import type { App } from '../state/app.ts';
import { readReport } from '../state/read-report.ts';
import { editorAddress, releaseAddress, taskAddress } from '../text/addresses.ts';
import { words } from '../text/format.ts';
import { bestMatches } from '../text/match.ts';
import { readableText } from '../text/text-tokens.ts';
import { SECTIONS, VIEWS } from './views.ts';

const MAX_ROWS = 200;
const MAX_UNITS = 8;
const MAX_SHOWN = 12;

const MAX_TEXT = 60;

export interface PaletteEntry {
  readonly id: string;
  readonly kind: string;
  readonly text: string;
  /** Where it is, for what its text alone does not say. */
  readonly detail?: string;
  readonly open: () => void;
}

/**
 * The entries that match the text, best first. Pages and actions come before the things that they act on: the many tasks of an
 * action would otherwise hide it.
 *
 * @param recent the entries that were opened last; they come first while nothing is typed
 */
export function matchEntries(
  recent: readonly PaletteEntry[],
  others: readonly PaletteEntry[],
  text: string,
): readonly PaletteEntry[] {
  const all = [...recent, ...others.filter((entry) => !recent.some(({ id }) => id === entry.id))];
  if (text.trim() === '') return all.slice(0, MAX_SHOWN);
  const matching = bestMatches(all, text, {
    textOf: ({ kind, text: name }) => `${name} ${kind}`,
    limit: all.length,
  });
  const isFixed = ({ kind }: PaletteEntry): boolean => kind === 'Page' || kind === 'Action';
  return [...matching.filter(isFixed), ...matching.filter((entry) => !isFixed(entry))].slice(0, MAX_SHOWN);
}

/** Pages, and actions that the token may run. */
export function fixedEntries(app: App): readonly PaletteEntry[] {
  const pages = VIEWS.filter(({ isInner }) => isInner !== true).map(({ id, title, section }) => {
    const room = SECTIONS.find((each) => each.id === section)?.title ?? title;
    return {
      id: `page:${id}`,
      kind: 'Page',
      text: title === room ? title : `${title} – ${room}`,
      open: () => app.navigate(`#/${id}`),
    };
  });
  const actions = (app.index()?.actions ?? [])
    .filter(({ allowed }) => allowed)
    .map(({ action }) => ({
      id: `action:${action}`,
      kind: 'Action',
      text: `${app.contract.actions[action]?.title ?? words(action)} – ${action}`,
      open: () => app.openAction({ action }),
    }));
  return [...pages, ...actions];
}

/** The releases, tasks and translation tasks of now; a report that fails gives none. */
export async function loadEntries(app: App, signal: AbortSignal): Promise<readonly PaletteEntry[]> {
  const lists = await Promise.all([
    readOrNull(app, 'release.list', {}, signal).then((answer) =>
      (answer?.releases ?? []).map(({ release_id: id, channel }) =>
        entryOf(app, `release:${id}`, 'Release', `${id} ${channel}`, releaseAddress(id)),
      ),
    ),
    readOrNull(app, 'task.list', {}, signal).then((answer) =>
      (answer?.items ?? [])
        .slice(0, MAX_ROWS)
        .map(({ task_id: id, kind, status }) =>
          entryOf(app, `task:${id}`, 'Task', `${kind} ${status} ${id}`, taskAddress(id)),
        ),
    ),
    readOrNull(app, 'translation.tasks', { limit: String(MAX_ROWS) }, signal).then((answer) =>
      (answer?.items ?? []).map(({ task_id: id, destination, archive_entry: inner }) =>
        entryOf(
          app,
          `translation:${id}`,
          'Translation',
          inner === null ? destination : `${destination} › ${inner}`,
          editorAddress(id),
        ),
      ),
    ),
  ]);
  return lists.flat();
}

const TASK_ID = /^tt_\w+$/;
const UNIT_ID = /^tu1_\w+$/;
/** Search answers that the palette reads at most; the Search page reads on. */
const MAX_ANSWERS = 5;

/**
 * Units by a part of their source or translation, by a part of the path of their file, and by their id; a translation task by its
 * id. The last entry leads to all that the text finds.
 */
export async function findUnits(
  app: App,
  text: string,
  signal: AbortSignal,
): Promise<readonly PaletteEntry[]> {
  const found = await Promise.all([
    TASK_ID.test(text) ? findTask(app, text, signal) : [],
    UNIT_ID.test(text) ? findListed(app, { unit_id: text }, signal) : findListed(app, { text }, signal),
    // The characters of a glob would ask for something else.
    findListed(app, { path_pattern: `**/*${text.replaceAll(/[*?[\]{}\\]/g, '?')}*` }, signal),
  ]);
  const entries = [...new Map(found.flat().map((entry) => [entry.id, entry])).values()].slice(0, MAX_UNITS);
  const address = `#/search?${new URLSearchParams({ text }).toString()}`;
  return [...entries, entryOf(app, `search:${text}`, 'Search', `All texts with “${text}”`, address)];
}

async function findTask(app: App, id: string, signal: AbortSignal): Promise<readonly PaletteEntry[]> {
  const answer = await readOrNull(app, 'translation.tasks', { task_id: id }, signal);
  return (answer?.items ?? []).map(({ task_id: task, destination }) =>
    entryOf(app, `translation:${task}`, 'Translation', destination, editorAddress(task)),
  );
}

async function findListed(
  app: App,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<readonly PaletteEntry[]> {
  const entries: PaletteEntry[] = [];
  let offset: number | null = 0;
  for (let asked = 0; asked < MAX_ANSWERS && offset !== null && entries.length < MAX_UNITS; asked += 1) {
    const page: Record<string, string> = { ...query, offset: String(offset), limit: String(MAX_UNITS) };
    const answer: Report<'parse.text_units'> | null = await readOrNull(app, 'parse.text_units', page, signal);
    entries.push(...(answer?.items ?? []).flatMap((unit) => unitEntry(app, unit) ?? []));
    offset = answer?.next_offset ?? null;
  }
  return entries;
}

function unitEntry(
  app: App,
  {
    unit_id: unit,
    destination,
    speaker,
    source_text: source,
    translation,
  }: Report<'parse.text_units'>['items'][number],
): PaletteEntry | null {
  const task = translation?.task_id ?? null;
  if (task === null) return null;
  const target = translation?.target_text ?? '';
  const text = target === '' ? beginningOf(source) : `${beginningOf(source)} → ${beginningOf(target)}`;
  const detail = [translation?.state, speaker, destination].filter(Boolean).join(' · ');
  return { ...entryOf(app, `unit:${unit}`, 'Unit', text, editorAddress(task, { unit })), detail };
}

function beginningOf(text: string): string {
  return readableText(text).slice(0, MAX_TEXT);
}

function entryOf(app: App, id: string, kind: string, text: string, address: string): PaletteEntry {
  return { id, kind, text, open: () => app.navigate(address) };
}

async function readOrNull<N extends ReportName>(
  app: App,
  name: N,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Report<N> | null> {
  return await readReport(app, name, query, signal).catch(() => null);
}
