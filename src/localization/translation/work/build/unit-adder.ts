import type { CarriedTier } from '../../../../domain/translation/carry-over.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import type { IndexedUnit } from '../../../parse/index/read/units-after.ts';
import { createGrowingTasks } from './growing-tasks.ts';
import { repetitionDigest } from './repetition-digest.ts';
import { sameBytes, type StoredTarget } from '../store/target-rows.ts';
import type { WorkTools } from '../store/work-tools.ts';

interface GrowingBuild {
  readonly buildId: number;
  readonly releaseId: string;
  /** Whether the tiers of the parse index lead from the release of the current tasks to this one. */
  readonly followsTiers: boolean;
  /** Whether the current tasks are of the same release. */
  readonly isRebuild: boolean;
  readonly hasCurrent: boolean;
  readonly now: number;
}

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

type OwnTarget = Pick<StoredTarget, 'state' | 'sourceDigest'>;

interface LiveUnit extends Shown {
  readonly sourceDigest: Uint8Array;
}

/**
 * Adds the units of a page to their tasks, and records the targets that must change. The counts of a task are written once for the
 * page.
 */
export function createUnitAdder(
  tools: WorkTools,
): (build: GrowingBuild, units: readonly IndexedUnit[]) => void {
  const { database, targetLanguage } = tools;
  const tasks = createGrowingTasks(tools);
  const originOf = createOriginReader(tools);
  const target = database.prepare(
    'SELECT state, source_digest FROM target WHERE unit_id = ? AND target_language = ?',
  );
  const ownOf = (unitId: Uint8Array): OwnTarget | null => {
    const row = target.get(unitId, targetLanguage);
    if (row === undefined) return null;
    return {
      state: row['state'] as StoredTarget['state'],
      sourceDigest: row['source_digest'] as Uint8Array,
    };
  };
  const addUnit =
    database.prepare(`INSERT INTO task_unit (task_seq, number, ordinal, unit_id, source_digest, repetition,
    tier, carried_from) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
  const addCarried = database.prepare(
    'INSERT INTO carried (build_id, unit_id, from_unit_id, tier, source_digest) VALUES (?, ?, ?, ?, ?)',
  );
  return (build, units) => {
    const page = tasks.page(build);
    for (const unit of units) {
      const { unitId, sourceDigest, ordinal } = unit;
      const own = ownOf(unitId);
      const { tier, from, isSettled, shown } = originOf(build, unit, own);
      const repetition = repetitionDigest(unit);
      const { taskSeq, number } = page.add(unit, repetition, own?.state ?? 'untranslated', shown.tier);
      addUnit.run(
        taskSeq,
        number,
        ordinal,
        unitId,
        sourceDigest,
        repetition,
        shown.tier === 'new' ? null : shown.tier,
        shown.from === null || sameBytes(shown.from, unitId) ? null : shown.from,
      );
      if (!isSettled) addCarried.run(build.buildId, unitId, from, tier, sourceDigest);
    }
    page.write();
  };
}

function createOriginReader({
  database,
  targetLanguage,
}: WorkTools): (build: GrowingBuild, unit: IndexedUnit, own: OwnTarget | null) => Origin {
  const liveOf = createLiveReader(database, targetLanguage);
  return ({ followsTiers, isRebuild, hasCurrent }, { unitId, sourceDigest, carriedBy }, own) => {
    const live = hasCurrent ? liveOf(unitId) : null;
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

function ownTier(isKnown: boolean, fits: boolean): CarriedTier {
  if (fits) return 'same';
  return isKnown ? 'changed' : 'new';
}
