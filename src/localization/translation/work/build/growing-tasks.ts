import { createHash } from 'node:crypto';
import type { CarriedTier } from '../../../../domain/translation/carry-over.ts';
import { isOpen, noUnits, UNIT_STATES, type UnitState } from '../../../../domain/translation/unit-state.ts';
import type { IndexedUnit } from '../../../parse/index/read/units-after.ts';
import { CHUNK_UNITS } from '../store/task-counts.ts';
import type { WorkTools } from '../store/work-tools.ts';

interface TasksOf {
  readonly buildId: number;
  readonly releaseId: string;
  readonly now: number;
}

interface UnitPlaceInTask {
  readonly taskSeq: number;
  readonly number: number;
}

interface GrowingPage {
  /** Counts a unit in its task, which is made when it is new. */
  add(
    unit: IndexedUnit,
    repetition: Uint8Array,
    state: UnitState,
    tier: CarriedTier | 'new',
  ): UnitPlaceInTask;
  /** Writes what the tasks and their chunks say about their units. */
  write(): void;
}

interface GrowingTask {
  readonly taskSeq: number;
  units: number;
  digest: Uint8Array;
  hasMoved: boolean;
  readonly states: Record<UnitState, number>;
  /** Open units of the page by the number of their chunk. */
  readonly chunks: Map<number, number>;
}

/** Tiers of a unit whose target comes from another place. */
const MOVED: ReadonlySet<string> = new Set(['moved', 'unique']);

/** Creates the tasks that a build adds units to; call it inside a transaction. */
export function createGrowingTasks(tools: WorkTools): { page(build: TasksOf): GrowingPage } {
  const { database } = tools;
  const find = createTaskFinder(tools);
  const sums = UNIT_STATES.map((state) => `${state} = ${state} + :${state}`).join(', ');
  const writeTask = database.prepare(`UPDATE task SET ${sums}, units_digest = :digest, has_moved = :has_moved
    WHERE task_seq = :task_seq`);
  const writeChunk = database.prepare(`INSERT INTO chunk (task_seq, number, open_units) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET open_units = open_units + excluded.open_units`);
  return {
    page: (build) => {
      const tasks = new Map<string, GrowingTask>();
      const taskOf = (unit: IndexedUnit): GrowingTask => {
        const key = JSON.stringify([unit.destination, unit.archiveEntry]);
        const task = tasks.get(key) ?? find(build, unit);
        tasks.set(key, task);
        return task;
      };
      return {
        add: (unit, repetition, state, tier) => {
          const task = taskOf(unit);
          const number = task.units;
          task.units += 1;
          task.states[state] += 1;
          task.digest = nextDigest(task.digest, unit, repetition);
          task.hasMoved ||= MOVED.has(tier);
          const chunk = Math.floor(number / CHUNK_UNITS);
          task.chunks.set(chunk, (task.chunks.get(chunk) ?? 0) + Number(isOpen(state)));
          return { taskSeq: task.taskSeq, number };
        },
        write: () => {
          for (const { taskSeq, states, digest, hasMoved, chunks } of tasks.values()) {
            writeTask.run({ ...states, digest, has_moved: Number(hasMoved), task_seq: taskSeq });
            for (const [chunk, open] of chunks) writeChunk.run(taskSeq, chunk, open);
          }
        },
      };
    },
  };
}

function createTaskFinder({
  database,
  targetLanguage,
  createId,
}: WorkTools): (build: TasksOf, unit: IndexedUnit) => GrowingTask {
  const find = database.prepare(`SELECT task_seq, units_digest, has_moved,
    (SELECT max(number) FROM task_unit WHERE task_unit.task_seq = task.task_seq) AS last FROM task
    WHERE build_id = ? AND destination = ? AND (archive_entry IS NULL) = ? AND coalesce(archive_entry, '') = ?`);
  const add =
    database.prepare(`INSERT INTO task (task_id, build_id, release_id, target_language, index_position,
    destination, archive_entry, format, parse_status, status, created_at, updated_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?)`);
  return ({ buildId, releaseId, now }, { position, destination, archiveEntry, format, parseStatus }) => {
    const none = { states: noUnits(), chunks: new Map<number, number>() };
    const found = find.get(buildId, destination, archiveEntry === null ? 1 : 0, archiveEntry ?? '');
    if (found !== undefined) {
      return {
        ...none,
        taskSeq: Number(found['task_seq']),
        units: Number(found['last'] ?? -1) + 1,
        digest: found['units_digest'] as Uint8Array,
        hasMoved: found['has_moved'] === 1,
      };
    }
    const id = `tt_${createId()}`;
    const container = [position, destination, archiveEntry, format, parseStatus] as const;
    const added = add.run(id, buildId, releaseId, targetLanguage, ...container, now, now);
    const taskSeq = Number(added.lastInsertRowid);
    return { ...none, taskSeq, units: 0, digest: new Uint8Array(), hasMoved: false };
  };
}

function nextDigest(
  digest: Uint8Array,
  { unitId, sourceDigest, ordinal }: IndexedUnit,
  repetition: Uint8Array,
): Uint8Array {
  return createHash('sha256')
    .update(digest)
    .update(unitId)
    .update(sourceDigest)
    .update(repetition)
    .update(`${ordinal}`)
    .digest();
}
