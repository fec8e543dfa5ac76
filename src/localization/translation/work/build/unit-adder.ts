import { createHash } from 'node:crypto';
import type { CarriedTier } from '../../../../domain/translation/carry-over.ts';
import { isOpen, noUnits, UNIT_STATES, type UnitState } from '../../../../domain/translation/unit-state.ts';
import type { IndexedUnit, UnitsAfter } from '../../../parse/index/read/units-after.ts';
import { CHUNK_UNITS } from '../store/task-counts.ts';
import { sameBytes, type StoredTarget } from '../store/target-rows.ts';
import type { Work } from '../store/work.ts';
import { repetitionDigest } from './repetition-digest.ts';

interface GrowingBuild {
  readonly buildId: number;
  /** Whether the tiers of the parse index lead from the release of the current tasks to this one. */
  readonly followsTiers: boolean;
  /** Whether the current tasks are of the same release. */
  readonly isRebuild: boolean;
  /** The first build of the release of the current tasks; `null` without any. */
  readonly releaseSince: number | null;
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

/** How a unit follows the release before: the tier, and the id that its target had. */
interface Origin {
  readonly tier: CarriedTier;
  readonly from: Uint8Array | null;
}

interface KnownUnit {
  readonly sourceDigest: Uint8Array;
}

interface OwnTarget extends KnownUnit {
  readonly state: StoredTarget['state'];
}

/** Tiers of a unit whose target comes from another place. */
const MOVED: ReadonlySet<string> = new Set(['moved', 'unique']);

const ADD_UNIT = `INSERT INTO task_unit (task_seq, number, ordinal, unit_id, source_digest, repetition,
  tier, carried_from) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
const ADD_CARRIED =
  'INSERT INTO carried (build_id, unit_id, from_unit_id, tier, source_digest) VALUES (?, ?, ?, ?, ?)';

/**
 * Adds the units of a page to their tasks, and records the targets that must change; call it inside a transaction. The counts of a
 * task are written once for the page.
 */
export function addPage(work: Work, build: GrowingBuild, { items, files }: UnitsAfter): void {
  const tasks = new Map<string, GrowingTask>();
  const keys = new Map(files.map(({ destination, contentKey }) => [destination, contentKey]));
  for (const unit of items) {
    const { unitId, sourceDigest, ordinal } = unit;
    const own = ownTarget(work, unitId);
    const { tier, from, isSettled, shown } = originOf(work, build, unit, own);
    const repetition = repetitionDigest(unit);
    const key = JSON.stringify([unit.destination, unit.archiveEntry]);
    const task = tasks.get(key) ?? taskOf(work, build, unit, keys.get(unit.destination));
    tasks.set(key, task);
    const number = countUnit(task, unit, repetition, own?.state ?? 'untranslated', shown.tier);
    work
      .sql(ADD_UNIT)
      .run(
        task.taskSeq,
        number,
        ordinal,
        unitId,
        sourceDigest,
        repetition,
        shown.tier === 'new' ? null : shown.tier,
        shown.from === null || sameBytes(shown.from, unitId) ? null : shown.from,
      );
    if (!isSettled) work.sql(ADD_CARRIED).run(build.buildId, unitId, from, tier, sourceDigest);
  }
  for (const task of tasks.values()) writeCounts(work, task);
}

/** Counts a unit in its task. @returns its number there */
function countUnit(
  task: GrowingTask,
  unit: IndexedUnit,
  repetition: Uint8Array,
  state: UnitState,
  tier: CarriedTier,
): number {
  const number = task.units;
  task.units += 1;
  task.states[state] += 1;
  task.digest = nextDigest(task.digest, unit, repetition);
  task.hasMoved ||= MOVED.has(tier);
  const chunk = Math.floor(number / CHUNK_UNITS);
  task.chunks.set(chunk, (task.chunks.get(chunk) ?? 0) + Number(isOpen(state)));
  return number;
}

const WRITE_TASK = `UPDATE task SET ${UNIT_STATES.map((state) => `${state} = ${state} + :${state}`).join(', ')},
  units_digest = :digest, has_moved = :has_moved WHERE task_seq = :task_seq`;
const WRITE_CHUNK = `INSERT INTO chunk (task_seq, number, open_units) VALUES (?, ?, ?)
  ON CONFLICT DO UPDATE SET open_units = open_units + excluded.open_units`;

function writeCounts(work: Work, { taskSeq, states, digest, hasMoved, chunks }: GrowingTask): void {
  work.sql(WRITE_TASK).run({ ...states, digest, has_moved: Number(hasMoved), task_seq: taskSeq });
  for (const [chunk, open] of chunks) work.sql(WRITE_CHUNK).run(taskSeq, chunk, open);
}

const FIND_TASK = `SELECT task_seq, units_digest, has_moved,
  (SELECT max(number) FROM task_unit WHERE task_unit.task_seq = task.task_seq) AS last FROM task
  WHERE build_id = ? AND destination = ? AND (archive_entry IS NULL) = ? AND coalesce(archive_entry, '') = ?`;
const ADD_TASK = `INSERT INTO task (task_id, build_id, made_in, content_key, target_language,
  destination, archive_entry, format, parse_status, status, created_at, updated_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?)`;

/** The task of the container of a unit, which is made when it is new. */
function taskOf(
  work: Work,
  { buildId }: GrowingBuild,
  unit: IndexedUnit,
  contentKey: Uint8Array | undefined,
): GrowingTask {
  if (contentKey === undefined) throw new Error(`the page does not name the file ${unit.destination}`);
  const { destination, archiveEntry, format, parseStatus } = unit;
  const none = { states: noUnits(), chunks: new Map<number, number>() };
  const found = work
    .sql(FIND_TASK)
    .get(buildId, destination, archiveEntry === null ? 1 : 0, archiveEntry ?? '');
  if (found !== undefined) {
    return {
      ...none,
      taskSeq: Number(found['task_seq']),
      units: Number(found['last'] ?? -1) + 1,
      digest: found['units_digest'] as Uint8Array,
      hasMoved: found['has_moved'] === 1,
    };
  }
  const id = `tt_${work.createId()}`;
  const container = [destination, archiveEntry, format, parseStatus] as const;
  const added = work
    .sql(ADD_TASK)
    .run(id, buildId, buildId, contentKey, work.targetLanguage, ...container, work.now(), work.now());
  const taskSeq = Number(added.lastInsertRowid);
  return { ...none, taskSeq, units: 0, digest: new Uint8Array(), hasMoved: false };
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

function ownTarget(work: Work, unitId: Uint8Array): OwnTarget | null {
  const row = work
    .sql('SELECT state, source_digest FROM target WHERE unit_id = ? AND target_language = ?')
    .get(unitId, work.targetLanguage);
  if (row === undefined) return null;
  return { state: row['state'] as StoredTarget['state'], sourceDigest: row['source_digest'] as Uint8Array };
}

/**
 * How a unit follows the release before.
 *
 * @returns the origin of its target; whether its own target stays as it is; and the origin for reports and for files with the ids of
 * the release before
 */
function originOf(
  work: Work,
  { followsTiers, isRebuild, releaseSince }: GrowingBuild,
  { unitId, sourceDigest, carriedBy }: IndexedUnit,
  own: OwnTarget | null,
): Origin & { readonly isSettled: boolean; readonly shown: Origin } {
  const live = releaseSince === null ? null : liveUnit(work, unitId, releaseSince);
  const stored = own ?? live;
  const fits = stored !== null && sameBytes(stored.sourceDigest, sourceDigest);
  const indexed: Origin = { tier: carriedBy?.tier ?? 'new', from: carriedBy?.unitId ?? null };
  // Without the tiers between exactly these two releases, only an equal id can say what a unit follows.
  // A unit that comes back after releases without it has a target of its own, for exactly this text.
  const comesBack = carriedBy === null && live === null && fits;
  const byIndex: Origin = comesBack ? { tier: 'unique', from: unitId } : indexed;
  const followed = followsTiers ? byIndex : { tier: ownTier(stored !== null, fits), from: unitId };
  const { tier } = followed;
  const keepsOwn = tier === 'same' && (own === null || (fits && own.state !== 'stale'));
  const isSettled = keepsOwn || (tier === 'new' && stored === null);
  if (!isRebuild) return { ...followed, isSettled, shown: followed };
  const isUnchanged = live !== null && sameBytes(live.sourceDigest, sourceDigest);
  return { ...followed, isSettled, shown: isUnchanged ? live : indexed };
}

// The order of a CROSS JOIN holds: SQLite would read every task otherwise.
const LIVE_UNIT = `SELECT source_digest, tier, carried_from, made_in FROM task_unit CROSS JOIN task USING (task_seq)
  WHERE unit_id = ? AND target_language = ? AND is_visible = 1 AND stored_status IS NOT 'superseded' LIMIT 1`;

function liveUnit(work: Work, unitId: Uint8Array, releaseSince: number): (Origin & KnownUnit) | null {
  const row = work.sql(LIVE_UNIT).get(unitId, work.targetLanguage);
  if (row === undefined) return null;
  const sourceDigest = row['source_digest'] as Uint8Array;
  if (Number(row['made_in']) < releaseSince) return { sourceDigest, tier: 'same', from: null };
  return {
    sourceDigest,
    tier: (row['tier'] ?? 'new') as CarriedTier,
    from: row['carried_from'] as Uint8Array | null,
  };
}

function ownTier(isKnown: boolean, fits: boolean): CarriedTier {
  if (fits) return 'same';
  return isKnown ? 'changed' : 'new';
}
