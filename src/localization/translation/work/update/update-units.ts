import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import { CHUNK_UNITS } from '../store/task-counts.ts';
import { sameBytes, type Row } from '../store/target-rows.ts';
import { refuse, type NamedUnit, type TaskUpdate, type UpdateRefusal } from '../store/task-update.ts';

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

/** Most errors that a refusal lists. */
const MAX_ERRORS = 100;

type PlaceUnits = (task: Row, named: NamedUnits) => PlacedUnits | UpdateRefusal;

interface NamedUnits extends Pick<TaskUpdate, 'expect' | 'waive' | 'hold'> {
  readonly results: readonly (NamedUnit & { readonly sourceDigest: Uint8Array })[];
}

/**
 * Creates the search for a unit in the current tasks, under its own id or the id that it had in the release before.
 *
 * @returns a function of the id, the digest of the caller's source text, if there is one, and the target language
 */
export function createCurrentUnitFinder(
  database: Database,
): (unitId: Uint8Array, digest: Uint8Array | null, language: string) => PlacedUnit | null {
  const find = database.prepare(`SELECT task_unit.*, task_id FROM task_unit JOIN task USING (task_seq)
    WHERE is_visible = 1 AND stored_status IS NOT 'superseded' AND target_language = :language
    AND (carried_from = :unit_id OR unit_id = :unit_id) ORDER BY carried_from IS NULL LIMIT 2`);
  return (unitId, digest, language) => {
    const places = find.all({ unit_id: unitId, language }).flatMap((row) => placeOf(row) ?? []);
    // Another text may have the id now: the one with the caller's text is meant.
    return (
      places.find(({ sourceDigest }) => digest !== null && sameBytes(sourceDigest, digest)) ??
      places[0] ??
      null
    );
  };
}

/**
 * Creates the search for the units of an update. Those of a superseded task are looked for in the current tasks, under their own
 * id or the id that they have now.
 */
export function createUnitFinder(database: Database): PlaceUnits {
  const own = database.prepare(`SELECT task_unit.*, task_id FROM task_unit JOIN task USING (task_seq)
    WHERE unit_id = ? AND task_seq = ?`);
  const findCurrent = createCurrentUnitFinder(database);
  const find = (task: Row, { unitId }: NamedUnit, digest: Uint8Array | null): PlacedUnit | null => {
    if (task['stored_status'] !== 'superseded') return placeOf(own.get(unitId, Number(task['task_seq'])));
    return findCurrent(unitId, digest, String(task['target_language']));
  };
  return (task, update) => {
    const places = new Map<string, PlacedUnit>();
    const errors: { pointer: string; message: string }[] = [];
    const named: readonly (NamedUnit & { readonly sourceDigest?: Uint8Array })[] = [
      ...update.results,
      ...update.expect,
      ...update.waive,
      ...update.hold,
    ];
    for (const unit of named) {
      const key = unitIdText(unit.unitId);
      if (places.has(key)) continue;
      const place = find(task, unit, unit.sourceDigest ?? null);
      if (place !== null) places.set(key, place);
      else errors.push({ pointer: unit.pointer, message: `is not a unit of this task: ${key}` });
    }
    if (errors.length > 0) {
      return refuse(
        'invalid_request',
        `the task has no such units; export it again`,
        errors.slice(0, MAX_ERRORS),
      );
    }
    return {
      isRefused: false,
      at: (unitId) => {
        const place = places.get(unitIdText(unitId));
        if (place === undefined) throw new Error(`the update does not name ${unitIdText(unitId)}`);
        return place;
      },
    };
  };
}

function placeOf(row: Row | undefined): PlacedUnit | null {
  if (row === undefined) return null;
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
