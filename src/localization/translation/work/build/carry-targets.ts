import { carryTarget, type CarriedTier } from '../../../../domain/translation/carry-over.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { NO_PROVENANCE, sameBytes, targetOf } from '../store/target-rows.ts';
import type { TargetStore } from '../store/target-store.ts';

/**
 * Applies the carried targets of a build. All of them are read before the first one is written, because units take over the ids
 * of others.
 *
 * @returns the units that have a target, by tier
 */
export function createCarrier(
  database: Database,
  targetLanguage: string,
  targets: TargetStore,
): (buildId: number, now: number) => Record<string, number> {
  const stage =
    database.prepare(`INSERT INTO staged SELECT carried.unit_id, tier, carried.source_digest, target.unit_id,
    target_text, state, state_before, revision, source_text, target.source_digest, author_kind, token_id, provider,
    provider_run_id, findings, qa_identity, propagated_from, updated_at
    FROM carried LEFT JOIN target ON target.unit_id = from_unit_id AND target_language = ?
    WHERE build_id = ?`);
  const staged = database.prepare('SELECT * FROM staged');
  // One statement, because units take over the ids of others.
  const follow = database.prepare(`UPDATE target SET propagated_from = (SELECT new_unit_id FROM staged
    WHERE staged.unit_id = target.propagated_from LIMIT 1) WHERE target_language = ? AND propagated_from IN
    (SELECT unit_id FROM staged WHERE unit_id <> new_unit_id)`);
  const unstage = database.prepare('DELETE FROM staged');
  const clear = database.prepare('DELETE FROM carried WHERE build_id = ?');
  return (buildId, now) => {
    const totals: Record<string, number> = {};
    stage.run(targetLanguage, buildId);
    for (const row of staged.iterate()) {
      const unitId = row['new_unit_id'] as Uint8Array;
      if (row['unit_id'] === null) {
        if (targets.get(unitId) !== null) targets.remove(unitId);
        continue;
      }
      const tier = row['tier'] as CarriedTier;
      totals[tier] = (totals[tier] ?? 0) + 1;
      const source = targetOf(row);
      const fitsSource = sameBytes(source.sourceDigest, row['new_source_digest'] as Uint8Array);
      const { state, stateBefore } = carryTarget(tier, { ...source, fitsSource });
      // A stored target never becomes `untranslated`.
      if (state === 'untranslated') continue;
      const isOwn = sameBytes(source.unitId, unitId);
      if (isOwn && state !== source.state) targets.setState(unitId, state, stateBefore, now);
      if (isOwn) continue;
      const moved = { ...source, unitId, state, stateBefore, updatedAt: now };
      targets.put(moved, { ...NO_PROVENANCE, reason: `carried over: ${tier}` });
    }
    follow.run(targetLanguage);
    unstage.run();
    clear.run(buildId);
    return totals;
  };
}
