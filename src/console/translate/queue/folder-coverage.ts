/** How far the texts of each folder are; pure. */

import type { Report } from '../../api/wire.ts';

export type CountedTask = Report<'translation.tasks'>['items'][number];

export interface FileCoverage {
  readonly destination: string;
  readonly taskId: string;
  readonly units: number;
  readonly proofread: number;
}

interface PartCoverage {
  readonly path: string;
  readonly units: number;
  readonly proofread: number;
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
    const units = Object.values(counts).reduce((sum, some) => sum + some, 0);
    const known = files.get(destination);
    files.set(destination, {
      destination,
      taskId: known?.taskId ?? id,
      units: (known?.units ?? 0) + units,
      proofread: (known?.proofread ?? 0) + (counts['proofread'] ?? 0),
    });
  }
  return files;
}

/**
 * The folders and files directly in a folder. A folder that holds only one other folder is shown as that one, because a map
 * of one tile says nothing.
 *
 * @param folder empty for the root, otherwise without a trailing slash
 */
export function partsOf(files: Iterable<FileCoverage>, folder: string): readonly PartCoverage[] {
  const all = [...files];
  let parts = directPartsOf(all, folder);
  for (;;) {
    const [only] = parts;
    if (parts.length !== 1 || only === undefined || only.taskId !== null) return parts;
    parts = directPartsOf(all, only.path);
  }
}

/** A map of fewer tiles says little. */
const LEAST_TILES = 6;

/** The tiles of a folder: its parts, or while these are few, the parts of the largest folders among them. */
export function tilesOf(files: Iterable<FileCoverage>, folder: string): readonly PartCoverage[] {
  const all = [...files];
  let tiles = partsOf(all, folder);
  for (;;) {
    const [largest] = tiles
      .filter(({ taskId }) => taskId === null)
      .toSorted((left, right) => right.units - left.units);
    if (largest === undefined || tiles.length >= LEAST_TILES) return tiles;
    tiles = tiles.flatMap((tile) => (tile === largest ? partsOf(all, largest.path) : [tile]));
  }
}

function directPartsOf(files: readonly FileCoverage[], folder: string): readonly PartCoverage[] {
  const prefix = folder === '' ? '' : `${folder}/`;
  const parts = new Map<string, PartCoverage>();
  for (const { destination, taskId, units, proofread } of files) {
    if (!destination.startsWith(prefix)) continue;
    const end = destination.indexOf('/', prefix.length);
    const path = end < 0 ? destination : destination.slice(0, end);
    const known = parts.get(path);
    parts.set(path, {
      path,
      taskId: end < 0 ? taskId : null,
      units: (known?.units ?? 0) + units,
      proofread: (known?.proofread ?? 0) + proofread,
    });
  }
  return [...parts.values()];
}
