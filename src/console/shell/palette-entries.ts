/** The things that the palette finds. */

import type { Report, ReportName } from '../api/wire.ts';
import type { App } from '../state/app.ts';
import { readReport } from '../state/read-report.ts';
import { editorAddress, releaseAddress, taskAddress } from '../text/addresses.ts';
import { words } from '../text/format.ts';
import { SECTIONS, VIEWS } from './views.ts';

/** Rows of a report that the palette searches. */
const MAX_ROWS = 200;
/** Units that it shows. */
const MAX_UNITS = 8;

/** One thing that the palette can open. */
export interface PaletteEntry {
  readonly id: string;
  /** Its kind, in one word. */
  readonly kind: string;
  readonly text: string;
  readonly open: () => void;
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

/** Units in files whose path contains a text. */
export async function findUnits(
  app: App,
  text: string,
  signal: AbortSignal,
): Promise<readonly PaletteEntry[]> {
  // The characters of a glob would ask for something else.
  const name = text.replaceAll(/[*?[\]{}\\]/g, '?');
  const query = { path_pattern: `**/*${name}*`, limit: String(MAX_UNITS) };
  const answer = await readOrNull(app, 'parse.text_units', query, signal);
  return (answer?.items ?? []).flatMap(({ unit_id: id, destination, source_text: source, translation }) => {
    const task = translation?.task_id ?? null;
    if (task === null) return [];
    const address = editorAddress(task, { unit: id });
    return [entryOf(app, `unit:${id}`, 'Unit', `${source.slice(0, 80)} – ${destination}`, address)];
  });
}

function entryOf(app: App, id: string, kind: string, text: string, address: string): PaletteEntry {
  return { id, kind, text, open: () => app.navigate(address) };
}

/** A report that fails gives `null`: the palette finds the rest, and the page of the report tells why. */
async function readOrNull<N extends ReportName>(
  app: App,
  name: N,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Report<N> | null> {
  return await readReport(app, name, query, signal).catch(() => null);
}
