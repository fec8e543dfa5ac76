/** How far the texts of each folder are; pure. */

import type { Report } from '../../api/wire.ts';

export type CountedTask = Report<'translation.tasks'>['items'][number];

export interface FileCoverage {
  readonly destination: string;
  readonly taskId: string;
  /** Units by state. */
  readonly counts: Readonly<Record<string, number>>;
}

export interface PartCoverage {
  readonly path: string;
  readonly counts: Readonly<Record<string, number>>;
  /** The first task of a file; `null` for a folder. */
  readonly taskId: string | null;
}

const NOT_COUNTED: ReadonlySet<string> = new Set(['skipped', 'superseded']);

/** Adds a page of tasks to the files that were counted before. */
export function countFiles(
  before: ReadonlyMap<string, FileCoverage>,
  tasks: readonly CountedTask[],
): ReadonlyMap<string, FileCoverage> {
  const files = new Map(before);
  for (const { task_id: id, destination, status, unit_counts: counts } of tasks) {
    if (NOT_COUNTED.has(status)) continue;
    const known = files.get(destination);
    files.set(destination, {
      destination,
      taskId: known?.taskId ?? id,
      counts: sumOf(known?.counts ?? {}, counts),
    });
  }
  return files;
}

/** The units that someone has to translate, or to translate again. */
export function unitsLeft(counts: PartCoverage['counts']): number {
  return ['untranslated', 'draft', 'stale', 'blocked'].reduce((sum, state) => sum + (counts[state] ?? 0), 0);
}

/**
 * The folders and files directly in a folder, those with the most units left first. A folder that holds only one other folder is
 * shown as that one, because a table of one row says nothing.
 *
 * @param folder empty for the root, otherwise without a trailing slash
 */
export function partsOf(files: Iterable<FileCoverage>, folder: string): readonly PartCoverage[] {
  const all = [...files];
  let parts = directPartsOf(all, folder);
  for (;;) {
    const [only] = parts;
    if (parts.length !== 1 || only === undefined || only.taskId !== null) break;
    parts = directPartsOf(all, only.path);
  }
  return parts.toSorted((left, right) => unitsLeft(right.counts) - unitsLeft(left.counts));
}

function directPartsOf(files: readonly FileCoverage[], folder: string): readonly PartCoverage[] {
  const prefix = folder === '' ? '' : `${folder}/`;
  const parts = new Map<string, PartCoverage>();
  for (const { destination, taskId, counts } of files) {
    if (!destination.startsWith(prefix)) continue;
    const end = destination.indexOf('/', prefix.length);
    const path = end < 0 ? destination : destination.slice(0, end);
    parts.set(path, {
      path,
      taskId: end < 0 ? taskId : null,
      counts: sumOf(parts.get(path)?.counts ?? {}, counts),
    });
  }
  return [...parts.values()];
}

function sumOf(left: PartCoverage['counts'], right: PartCoverage['counts']): PartCoverage['counts'] {
  const sums: Record<string, number> = { ...left };
  for (const [state, units] of Object.entries(right)) sums[state] = (sums[state] ?? 0) + units;
  return sums;
}
