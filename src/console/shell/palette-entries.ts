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

export interface FoundUnits {
  readonly entries: readonly PaletteEntry[];
  readonly isTruncated: boolean;
}

const CONCORDANCE = JSON.stringify({ mode: 'concordance' });
const FIELD_PATH = /^\S*[/.#[=]\S*$/;
const TASK_ID = /^tt_\w+$/;

/**
 * Units by what the reports can find: a part of the path of their file, their field path, and a part of their source or target as
 * far as the Translation Memory has it. No report finds a unit by its id; a translation task is found by its id.
 */
export async function findUnits(app: App, text: string, signal: AbortSignal): Promise<FoundUnits> {
  const query = { source_text: text, source_context: CONCORDANCE, limit: String(MAX_UNITS) };
  const memory = readOrNull(app, 'translation.memory.query', query, signal);
  const found = await Promise.all([
    TASK_ID.test(text) ? findTask(app, text, signal) : [],
    memory.then((answer) => (answer?.matches ?? []).map(({ record }) => recordEntry(app, record))),
    FIELD_PATH.test(text) ? findListed(app, { field_path: text }, signal) : [],
    // The characters of a glob would ask for something else.
    findListed(app, { path_pattern: `**/*${text.replaceAll(/[*?[\]{}\\]/g, '?')}*` }, signal),
  ]);
  const entries = [...new Map(found.flat().map((entry) => [entry.id, entry])).values()].slice(0, MAX_UNITS);
  return { entries, isTruncated: (await memory)?.truncated === true };
}

async function findTask(app: App, id: string, signal: AbortSignal): Promise<readonly PaletteEntry[]> {
  const answer = await readOrNull(app, 'translation.tasks', { task_id: id }, signal);
  return (answer?.items ?? []).map(({ task_id: task, destination }) =>
    entryOf(app, `translation:${task}`, 'Translation', destination, editorAddress(task)),
  );
}

/** A record of the Translation Memory; one that was imported leads to the memory, because it has no unit. */
function recordEntry(
  app: App,
  {
    source_text: source,
    target_text: target,
    provenance: { task_id: task, unit_id: unit },
  }: Report<'translation.memory.query'>['matches'][number]['record'],
): PaletteEntry {
  const texts = `${beginningOf(source)} → ${beginningOf(target)}`;
  return task === null || unit === null
    ? entryOf(
        app,
        `memory:${source}`,
        'Memory',
        texts,
        `#/memory?${new URLSearchParams({ text: source }).toString()}`,
      )
    : entryOf(app, `unit:${unit}`, 'Unit', texts, editorAddress(task, { unit }));
}

async function findListed(
  app: App,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<readonly PaletteEntry[]> {
  const answer = await readOrNull(app, 'parse.text_units', { ...query, limit: String(MAX_UNITS) }, signal);
  return (answer?.items ?? []).flatMap(({ unit_id: unit, destination, source_text: source, translation }) => {
    const task = translation?.task_id ?? null;
    if (task === null) return [];
    const address = editorAddress(task, { unit });
    return [entryOf(app, `unit:${unit}`, 'Unit', `${beginningOf(source)} – ${destination}`, address)];
  });
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
