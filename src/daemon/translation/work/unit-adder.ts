import type { CarriedTier } from '../../../domain/translation/carry-over.ts';
import { isOpen, UNIT_STATES } from '../../../domain/translation/unit-state.ts';
import type { Database } from '../../database/sqlite-database.ts';
import type { IndexedUnit } from '../../parse/index/units-after.ts';
import { CHUNK_UNITS } from './task-counts.ts';
import { repetitionDigest } from './repetition-digest.ts';
import { sameBytes, type StoredTarget } from './target-rows.ts';
import type { TargetStore } from './target-store.ts';

/** The build that units are added to. */
export interface GrowingBuild {
  readonly buildId: number;
  readonly releaseId: string;
  /** Whether the tiers of the parse index lead from the release of the current tasks to this one. */
  readonly followsTiers: boolean;
  /** Whether the current tasks are of the same release. */
  readonly isRebuild: boolean;
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
  /** How it follows the release before, for reports and for files with the ids of that release. */
  readonly shown: Shown;
}

type Shown = Pick<Origin, 'tier' | 'from'>;

/** A unit of the current tasks. */
interface LiveUnit extends Shown {
  readonly sourceDigest: Uint8Array;
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
    const { tier, from, isSettled, shown } = originOf(build, unit, own);
    const taskSeq = taskOf(build, unit);
    const number = Number(lastNumber.get(taskSeq)?.['number'] ?? -1) + 1;
    addUnit.run(
      taskSeq,
      number,
      unit.ordinal,
      unitId,
      sourceDigest,
      repetitionDigest(unit),
      shown.tier === 'new' ? null : shown.tier,
      shown.from === null || sameBytes(shown.from, unitId) ? null : shown.from,
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
  const liveOf = createLiveReader(database, targetLanguage);
  return ({ followsTiers, isRebuild }, { unitId, sourceDigest, carriedBy }, own) => {
    const live = liveOf(unitId);
    const stored = own ?? live;
    const fits = stored !== null && sameBytes(stored.sourceDigest, sourceDigest);
    const indexed: Shown = { tier: carriedBy?.tier ?? 'new', from: carriedBy?.unitId ?? null };
    // Without the tiers between exactly these two releases, only an equal id can say what a unit follows.
    const followed = followsTiers ? indexed : { tier: ownTier(stored !== null, fits), from: unitId };
    const { tier } = followed;
    const keepsOwn = tier === 'same' && (own === null || (fits && own.state !== 'stale'));
    const isSettled = keepsOwn || (tier === 'new' && stored === null);
    if (!isRebuild) return { ...followed, isSettled, shown: followed };
    const isUnchanged = live !== null && sameBytes(live.sourceDigest, sourceDigest);
    return { ...followed, isSettled, shown: isUnchanged ? live : indexed };
  };
}

/** Finds the unit of the current tasks that has an id. */
function createLiveReader(
  database: Database,
  targetLanguage: string,
): (unitId: Uint8Array) => LiveUnit | null {
  // The order of a CROSS JOIN holds: SQLite would look into every task otherwise.
  const find =
    database.prepare(`SELECT source_digest, tier, carried_from FROM task_unit CROSS JOIN task USING (task_seq)
    WHERE unit_id = ? AND target_language = ? AND is_visible = 1 AND stored_status IS NOT 'superseded' LIMIT 1`);
  return (unitId) => {
    const row = find.get(unitId, targetLanguage);
    if (row === undefined) return null;
    return {
      sourceDigest: row['source_digest'] as Uint8Array,
      tier: (row['tier'] ?? 'new') as CarriedTier,
      from: row['carried_from'] as Uint8Array | null,
    };
  };
}

/** How a unit follows the one with its own id. */
function ownTier(isKnown: boolean, fits: boolean): CarriedTier {
  if (fits) return 'same';
  return isKnown ? 'changed' : 'new';
}
