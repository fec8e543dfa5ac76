import { createHash } from 'node:crypto';
import type { CarriedTier } from '../../../domain/translation/carry-over.ts';
import { repetitionKey } from '../../../domain/translation/repetition.ts';
import { isOpen, UNIT_STATES } from '../../../domain/translation/unit-state.ts';
import type { Database } from '../../database/sqlite-database.ts';
import type { IndexedUnit } from '../../parse/index/units-after.ts';
import { CHUNK_UNITS } from './task-counts.ts';
import { sameBytes, type StoredTarget } from './target-rows.ts';
import type { TargetStore } from './target-store.ts';

/** The build that units are added to. */
export interface GrowingBuild {
  readonly buildId: number;
  readonly releaseId: string;
  /** Whether the tiers of the parse index lead from the release of the current tasks to this one. */
  readonly followsTiers: boolean;
  readonly now: number;
}

export interface UnitAdderOptions {
  readonly database: Database;
  readonly targetLanguage: string;
  readonly targets: Pick<TargetStore, 'get'>;
  /** Makes the id of a task, without its prefix. */
  readonly createId: () => string;
}

/** The way of a unit from the release before. */
interface Origin {
  readonly tier: CarriedTier;
  /** The id that its target had. */
  readonly from: Uint8Array | null;
  /** Whether its own target stays as it is. */
  readonly isSettled: boolean;
}

/** Adds one unit to its task, and records that its target must change, if it must. */
export function createUnitAdder(options: UnitAdderOptions): (build: GrowingBuild, unit: IndexedUnit) => void {
  const { database, targets } = options;
  const taskOf = createTaskFinder(options);
  const originOf = createOriginReader(options);
  const lastNumber = database.prepare('SELECT max(number) AS number FROM task_unit WHERE task_seq = ?');
  const addUnit =
    database.prepare(`INSERT INTO task_unit (task_seq, number, ordinal, unit_id, source_digest, repetition,
    tier, carried_from) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
  const addChunk = database.prepare(`INSERT INTO chunk (task_seq, number, open_units) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET open_units = open_units + excluded.open_units`);
  const counts = new Map(
    UNIT_STATES.map((state) => [
      state,
      database.prepare(`UPDATE task SET ${state} = ${state} + 1 WHERE task_seq = ?`),
    ]),
  );
  const addCarried = database.prepare(
    'INSERT INTO carried (build_id, unit_id, from_unit_id, tier, source_digest) VALUES (?, ?, ?, ?, ?)',
  );
  return (build, unit) => {
    const { unitId, sourceDigest } = unit;
    const own = targets.get(unitId);
    const { tier, from, isSettled } = originOf(build, unit, own);
    const taskSeq = taskOf(build, unit);
    const number = Number(lastNumber.get(taskSeq)?.['number'] ?? -1) + 1;
    addUnit.run(
      taskSeq,
      number,
      unit.ordinal,
      unitId,
      sourceDigest,
      createHash('sha256').update(repetitionKey(unit)).digest().subarray(0, 16),
      tier === 'new' ? null : tier,
      from === null || sameBytes(from, unitId) ? null : from,
    );
    const state = own?.state ?? 'untranslated';
    counts.get(state)?.run(taskSeq);
    addChunk.run(taskSeq, Math.floor(number / CHUNK_UNITS), isOpen(state) ? 1 : 0);
    if (!isSettled) addCarried.run(build.buildId, unitId, from, tier, sourceDigest);
  };
}

/** Finds the task of a unit, or makes it. */
function createTaskFinder({
  database,
  targetLanguage,
  createId,
}: UnitAdderOptions): (build: GrowingBuild, unit: IndexedUnit) => number {
  const find = database.prepare(`SELECT task_seq FROM task WHERE build_id = ? AND destination = ?
    AND (archive_entry IS NULL) = ? AND coalesce(archive_entry, '') = ?`);
  const add =
    database.prepare(`INSERT INTO task (task_id, build_id, release_id, target_language, index_position,
    destination, archive_entry, format, parse_status, status, created_at, updated_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?)`);
  return ({ buildId, releaseId, now }, { position, destination, archiveEntry, format, parseStatus }) => {
    const found = find.get(buildId, destination, archiveEntry === null ? 1 : 0, archiveEntry ?? '');
    if (found !== undefined) return Number(found['task_seq']);
    const id = `tt_${createId()}`;
    const container = [position, destination, archiveEntry, format, parseStatus] as const;
    const added = add.run(id, buildId, releaseId, targetLanguage, ...container, now, now);
    return Number(added.lastInsertRowid);
  };
}

function createOriginReader({
  database,
  targetLanguage,
}: UnitAdderOptions): (build: GrowingBuild, unit: IndexedUnit, own: StoredTarget | null) => Origin {
  const live = database.prepare(`SELECT 1 FROM task_unit JOIN task USING (task_seq)
    WHERE unit_id = ? AND target_language = ? AND is_visible = 1 LIMIT 1`);
  return ({ followsTiers }, { unitId, sourceDigest, carriedBy }, own) => {
    const fits = own !== null && sameBytes(own.sourceDigest, sourceDigest);
    const isKnown = own !== null || live.get(unitId, targetLanguage) !== undefined;
    // Without the tiers between exactly these two releases, only an equal id can say what a unit follows.
    const tier = followsTiers ? (carriedBy?.tier ?? 'new') : ownTier(isKnown, fits);
    const from = followsTiers ? (carriedBy?.unitId ?? null) : unitId;
    const keepsOwn = tier === 'same' && (own === null || (fits && own.state !== 'stale'));
    return { tier, from, isSettled: keepsOwn || (tier === 'new' && !isKnown) };
  };
}

/** How a unit follows the one with its own id. */
function ownTier(isKnown: boolean, fits: boolean): CarriedTier {
  if (fits) return 'same';
  return isKnown ? 'changed' : 'new';
}
