import { messageOf } from '../../../platform/errors.ts';
import type {
  IndexedUnit,
  UnitPlace,
  UnitsAfter,
  UnitsAfterQuery,
} from '../../parse/index/read/units-after.ts';
import { TaskError } from '../../../engine/tasks/task.ts';

interface UnitRequest {
  readonly releaseId: string;
  /** Of the parse index. */
  readonly generation: number;
  /** The file. */
  readonly destination: string;
  readonly ordinals: readonly number[];
  /** Units before and after each one that are wanted, too. Default: 0. */
  readonly neighbours?: number;
}

/** A unit, and those around it in its container, in their order. */
export interface SourceUnit {
  readonly unit: IndexedUnit;
  readonly before: readonly IndexedUnit[];
  readonly after: readonly IndexedUnit[];
}

/** Reads units of tasks from the parse index. */
export interface UnitSource {
  /**
   * Reads units by their places. All of them are held in memory: the caller bounds how many it asks for.
   *
   * @returns one for each ordinal, in their order
   * @throws TaskError `text_not_indexed`, to be retried, when the index shows another release than that of the tasks, or cannot be
   * read; the signal's reason
   */
  unitsOf(request: UnitRequest, signal?: AbortSignal): Promise<readonly SourceUnit[]>;
}

/** Pages through the units of the reported release. */
export type UnitsAfterPort = (query: UnitsAfterQuery, signal: AbortSignal) => Promise<UnitsAfter>;

/** Bounds of one page: it passes through the event loop. */
const PAGE = { units: 500, characters: 256 * 1024 };
/** Units between two wanted ones that are read along rather than with a call of their own. */
const GAP = 32;

interface Run {
  first: number;
  last: number;
}

/** Creates the reader. */
export function createUnitSource(unitsAfter: UnitsAfterPort): UnitSource {
  const readRun = async (request: UnitRequest, run: Run, signal: AbortSignal): Promise<IndexedUnit[]> => {
    const units: IndexedUnit[] = [];
    const { destination } = request;
    let from: UnitPlace | null = { destination, ordinal: run.first };
    while (from !== null && from.ordinal <= run.last) {
      const limit = Math.min(PAGE.units, run.last - from.ordinal + 1);
      const query = { from, limit, maxCharacters: PAGE.characters, lastDestination: destination };
      const page: UnitsAfter = await unitsAfter(query, signal);
      if (page.releaseId !== request.releaseId || page.generation !== request.generation)
        throw moved(request);
      units.push(...page.items);
      from = page.next;
    }
    return units;
  };
  return {
    unitsOf: async (request, signal = new AbortController().signal) => {
      const { ordinals, neighbours = 0 } = request;
      const units = new Map<number, IndexedUnit>();
      try {
        for (const run of runsOf(ordinals, neighbours)) {
          for (const unit of await readRun(request, run, signal)) units.set(unit.ordinal, unit);
        }
      } catch (error) {
        signal.throwIfAborted();
        throw notReadable(error);
      }
      return ordinals.map((ordinal) => {
        const unit = units.get(ordinal);
        if (unit === undefined) throw moved(request);
        return {
          unit,
          before: around(units, unit, -neighbours, -1),
          after: around(units, unit, 1, neighbours),
        };
      });
    },
  };
}

/** The ranges of ordinals to read, without overlap. */
function runsOf(ordinals: readonly number[], neighbours: number): Run[] {
  const runs: Run[] = [];
  for (const ordinal of [...ordinals].sort((left, right) => left - right)) {
    const first = Math.max(0, ordinal - neighbours);
    const last = ordinal + neighbours;
    const open = runs.at(-1);
    if (open !== undefined && first <= open.last + GAP) open.last = Math.max(open.last, last);
    else runs.push({ first, last });
  }
  return runs;
}

function around(
  units: ReadonlyMap<number, IndexedUnit>,
  { ordinal, archiveEntry }: IndexedUnit,
  from: number,
  to: number,
): IndexedUnit[] {
  const found: IndexedUnit[] = [];
  for (let distance = from; distance <= to; distance += 1) {
    const unit = units.get(ordinal + distance);
    if (unit !== undefined && unit.archiveEntry === archiveEntry) found.push(unit);
  }
  return found;
}

function moved({ releaseId, generation }: UnitRequest): TaskError {
  return new TaskError(
    'text_not_indexed',
    `the parse index has moved on from release ${releaseId} (generation ${generation}), for which the tasks were built; try again when task-build has ended`,
    { retryable: true },
  );
}

function notReadable(error: unknown): TaskError {
  if (error instanceof TaskError && error.code === 'text_not_indexed') return error;
  return new TaskError('text_not_indexed', `the parse index cannot be read: ${messageOf(error)}; try again`, {
    retryable: true,
    cause: error,
  });
}
