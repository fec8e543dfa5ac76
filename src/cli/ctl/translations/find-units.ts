import type { UnitLocator } from '../../../exchange/units/unit-record.ts';
import type { AdminApi } from '../admin-api.ts';
import { readReport } from '../reports.ts';
import { createUnitMatcher, type FileUnit, type UnitMatcher } from './match-units.ts';
import {
  eachTask,
  unitPages,
  withOneIndex,
  type IndexState,
  type ServiceTask,
  type UnitHistory,
} from './service-pages.ts';

interface ComparedFile {
  readonly index: IndexState;
  readonly matcher: UnitMatcher;
}

/** A file of more destinations is compared with the whole release immediately. */
const MAX_DESTINATIONS = 50;

/**
 * Finds the units of a file in the current release: first among those of the destinations that the file names, then, where some
 * are missing, in the whole release.
 *
 * @param progress learns how far the search is
 * @throws CtlFailure
 */
export async function findUnits(
  api: AdminApi,
  units: readonly FileUnit[],
  progress: (text: string) => void,
): Promise<ComparedFile> {
  return await withOneIndex(async () => {
    const near = destinationsOf(units).map((destination) => ({ destination }));
    const found = near.length === 0 ? null : await search(api, units, near, progress);
    return found === null || found.matcher.isOpen() ? await search(api, units, [{}], progress) : found;
  });
}

async function search(
  api: AdminApi,
  units: readonly FileUnit[],
  queries: readonly Readonly<Record<string, string>>[],
  progress: (text: string) => void,
): Promise<ComparedFile> {
  const matcher = createUnitMatcher(units);
  let index: IndexState | null = null;
  let seen = 0;
  for (const query of queries) {
    for await (const page of unitPages(api, query, index)) {
      index = page.index;
      matcher.see(page.units);
      seen += page.units.length;
      progress(`comparing: ${seen} units read`);
    }
  }
  if (index === null) throw new Error('the report gave no page');
  return { index, matcher };
}

/** The destinations of a file; none when a unit has no place or there are too many. */
function destinationsOf(units: readonly FileUnit[]): readonly string[] {
  const destinations = new Set(units.map(({ unit }) => unit.locator?.destination ?? null));
  const names = [...destinations].filter((name) => name !== null);
  return names.length === destinations.size && names.length <= MAX_DESTINATIONS ? names : [];
}

/** Reads some tasks of a release, by their id. */
export async function readTasks(
  api: AdminApi,
  releaseId: string,
  wanted: ReadonlySet<string>,
): Promise<ReadonlyMap<string, ServiceTask>> {
  const tasks = new Map<string, ServiceTask>();
  if (wanted.size === 0) return tasks;
  for await (const task of eachTask(api, { release_id: releaseId })) {
    if (wanted.has(task.task_id)) tasks.set(task.task_id, task);
    if (tasks.size === wanted.size) break;
  }
  return tasks;
}

/**
 * Reads the history of one unit, newest last.
 *
 * @returns `null` when its place is that of several units
 */
export async function readHistory(api: AdminApi, place: UnitLocator): Promise<UnitHistory | null> {
  const page = await readReport(api, 'parse.text_units', {
    destination: place.destination,
    field_path: place.field_path,
    ...(place.archive_entry === null ? {} : { archive_entry: place.archive_entry }),
    ...(place.path_id === null ? {} : { path_id: place.path_id }),
    limit: '1',
  });
  return page.history;
}
