import { unitIdText } from '../../../unit-id-text.ts';
import { CHUNK_UNITS } from '../store/task-counts.ts';
import { sameBytes, type Row } from '../store/target-rows.ts';
import { refuse, type NamedUnit, type NamedUnits, type UpdateRefusal } from '../store/task-update.ts';
import type { Work } from '../store/work.ts';

/** A unit of an update in the task that has it now. */
export interface PlacedUnit {
  readonly unitId: Uint8Array;
  readonly sourceDigest: Uint8Array;
  readonly taskSeq: number;
  readonly taskId: string;
  /** Of the unit in its task. */
  readonly number: number;
  readonly chunk: number;
  /** In its file. */
  readonly ordinal: number;
}

/** The units that an update names, by the id that the caller uses. */
export interface PlacedUnits {
  readonly isRefused: false;
  /** @returns the unit; every unit of the update has one */
  at(unitId: Uint8Array): PlacedUnit;
}

/** A unit with the source text of the caller. */
export interface NamedSource extends NamedUnit {
  readonly sourceText: string;
  readonly sourceDigest: Uint8Array;
}

const MAX_ERRORS = 100;

/** The task of an id that reports show. */
export function visibleTask(work: Work, taskId: string): Row | undefined {
  return work
    .sql('SELECT * FROM task_of_release WHERE task_id = ? AND target_language = ? AND is_visible = 1')
    .get(taskId, work.targetLanguage);
}

/** Refuses the id of no task. */
export function unknownTask(taskId: string): UpdateRefusal {
  return refuse('unknown_translation_task', `no translation task has the id "${taskId.slice(0, 64)}"`);
}

/**
 * Finds a unit in the current tasks, under its own id or the id that it had in the release before.
 *
 * @param digest of the caller's source text, if there is one
 */
export function findCurrentUnit(
  work: Work,
  unitId: Uint8Array,
  digest: Uint8Array | null,
): PlacedUnit | null {
  const rows = work
    .sql(
      `SELECT task_unit.*, task_id FROM task_unit JOIN task USING (task_seq) JOIN build USING (build_id)
      WHERE build.state = 'current' AND is_visible = 1 AND task.target_language = :language
      AND (carried_from = :unit_id AND made_in >= release_since OR unit_id = :unit_id)
      ORDER BY carried_from IS NOT :unit_id LIMIT 2`,
    )
    .all({ unit_id: unitId, language: work.targetLanguage });
  const places = rows.map(placeOf);
  // Another text may have the id now: the one with the caller's text is meant.
  const ofText = places.find(({ sourceDigest }) => digest !== null && sameBytes(sourceDigest, digest));
  return ofText ?? places[0] ?? null;
}

/**
 * Finds the units of an update. Those of a superseded task are searched for in the current tasks, under their own id or the id that
 * they have now.
 */
export function placeUnits(
  work: Work,
  task: Row,
  update: NamedUnits & { readonly results: readonly NamedSource[] },
): PlacedUnits | UpdateRefusal {
  const places = new Map<string, PlacedUnit>();
  const errors: { pointer: string; message: string }[] = [];
  const named: readonly (NamedUnit & Partial<NamedSource>)[] = [
    ...update.results,
    ...update.expect,
    ...update.waive,
    ...update.hold,
  ];
  for (const { unitId, pointer, sourceDigest = null } of named) {
    const key = unitIdText(unitId);
    if (places.has(key)) continue;
    const place =
      task['stored_status'] === 'superseded'
        ? findCurrentUnit(work, unitId, sourceDigest)
        : findOwnUnit(work, unitId, Number(task['task_seq']));
    if (place !== null) places.set(key, place);
    else errors.push({ pointer, message: `is not a unit of this task: ${key}` });
  }
  if (errors.length > 0) {
    const detail = 'the task has no such units; export it again';
    return refuse('invalid_request', detail, errors.slice(0, MAX_ERRORS));
  }
  return {
    isRefused: false,
    at: (unitId) => {
      const place = places.get(unitIdText(unitId));
      if (place === undefined) throw new Error(`the update does not name ${unitIdText(unitId)}`);
      return place;
    },
  };
}

function findOwnUnit(work: Work, unitId: Uint8Array, taskSeq: number): PlacedUnit | null {
  const row = work
    .sql(
      `SELECT task_unit.*, task_id FROM task_unit JOIN task USING (task_seq)
      WHERE unit_id = ? AND task_seq = ?`,
    )
    .get(unitId, taskSeq);
  return row === undefined ? null : placeOf(row);
}

function placeOf(row: Row): PlacedUnit {
  return {
    unitId: row['unit_id'] as Uint8Array,
    sourceDigest: row['source_digest'] as Uint8Array,
    taskSeq: Number(row['task_seq']),
    taskId: String(row['task_id']),
    number: Number(row['number']),
    chunk: Math.floor(Number(row['number']) / CHUNK_UNITS),
    ordinal: Number(row['ordinal']),
  };
}
