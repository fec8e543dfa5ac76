import { carryTarget, type CarriedTier } from '../../../../domain/translation/carry-over.ts';
import { NO_PROVENANCE, sameBytes, targetOf } from '../store/target-rows.ts';
import { getTarget, putTarget, removeTarget, setTargetState } from '../store/target-store.ts';
import type { Work } from '../store/work.ts';

const STAGE = `INSERT INTO staged SELECT carried.unit_id, tier, carried.source_digest, target.unit_id,
  target_text, state, state_before, revision, source_text, target.source_digest, author_kind, token_id, provider,
  provider_run_id, findings, qa_identity, propagated_from, updated_at
  FROM carried LEFT JOIN target ON target.unit_id = from_unit_id AND target_language = ?
  WHERE build_id = ?`;
// One statement, because units take over the ids of others.
const FOLLOW = `UPDATE target SET propagated_from = (SELECT new_unit_id FROM staged
  WHERE staged.unit_id = target.propagated_from LIMIT 1) WHERE target_language = ? AND propagated_from IN
  (SELECT unit_id FROM staged WHERE unit_id <> new_unit_id)`;

/**
 * Applies the carried targets of a build. All of them are read before the first one is written, because units take over the ids
 * of others.
 *
 * @returns the units that have a target, by tier
 */
export function carryTargets(work: Work, buildId: number): Record<string, number> {
  const totals: Record<string, number> = {};
  work.sql(STAGE).run(work.targetLanguage, buildId);
  for (const row of work.sql('SELECT * FROM staged').iterate()) {
    const unitId = row['new_unit_id'] as Uint8Array;
    if (row['unit_id'] === null) {
      if (getTarget(work, unitId) !== null) removeTarget(work, unitId);
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
    if (isOwn && state !== source.state) setTargetState(work, unitId, state, stateBefore);
    if (isOwn) continue;
    const moved = { ...source, unitId, state, stateBefore, updatedAt: work.now() };
    putTarget(work, moved, { ...NO_PROVENANCE, reason: `carried over: ${tier}` });
  }
  work.sql(FOLLOW).run(work.targetLanguage);
  work.sql('DELETE FROM staged').run();
  work.sql('DELETE FROM carried WHERE build_id = ?').run(buildId);
  return totals;
}
