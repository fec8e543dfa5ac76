import type { UnitTranslation } from '../../../parse/index/read/unit-translations.ts';
import { targetDigest } from '../store/accepted-findings.ts';
import type { Row, StoredTarget } from '../store/target-rows.ts';
import type { Work } from '../store/work.ts';

const HOLD = 'SELECT reviewer, reason, at FROM hold WHERE unit_id = ? AND target_language = ?';
const OVERRIDE = `SELECT reviewer, reason, provenance, confirmed_at FROM glossary_override
  WHERE qa_identity = ? ORDER BY entry DESC LIMIT 1`;
const WAIVERS = `SELECT check_name, reviewer, reason, token_id, at FROM waiver WHERE unit_id = ?
  AND target_language = ? AND source_digest = ? AND target_digest = ? ORDER BY check_name`;
// Only a review records the token of a reviewer.
const RETURN = `SELECT h.reviewer, h.reason, h.at FROM target
  JOIN target_history h ON h.entry = target.entry
  WHERE target.unit_id = ? AND target.target_language = ? AND h.reviewer_token_id IS NOT NULL`;

/** The person who holds a unit; `null` when nobody does. */
export function holdOn(work: Work, unitId: Uint8Array): UnitTranslation['hold'] {
  return decisionOf(work.sql(HOLD).get(unitId, work.targetLanguage));
}

/** The newest override for the Glossary diagnosis of a target. */
export function overrideOf(work: Work, { qaIdentity }: StoredTarget): UnitTranslation['glossary_override'] {
  const row = qaIdentity === null ? undefined : work.sql(OVERRIDE).get(qaIdentity);
  if (row === undefined) return null;
  return {
    reviewer: String(row['reviewer']),
    reason: String(row['reason']),
    provenance: String(row['provenance']),
    confirmed_at: Number(row['confirmed_at']),
  };
}

/** The accepted findings of exactly this source and target. */
export function waiversOf(work: Work, target: StoredTarget): UnitTranslation['waivers'] {
  const { unitId, findings, sourceDigest, text } = target;
  if (findings.length === 0) return [];
  return work
    .sql(WAIVERS)
    .all(unitId, work.targetLanguage, sourceDigest, targetDigest(text))
    .map((row) => ({
      check: String(row['check_name']),
      reviewer: String(row['reviewer']),
      reason: String(row['reason']),
      token_id: row['token_id'] as string | null,
      at: Number(row['at']),
    }));
}

/** The review that returned a target as it is now. */
export function returnOf(work: Work, { unitId, state }: StoredTarget): UnitTranslation['returned'] {
  const canBeReturned = state === 'draft' || state === 'blocked';
  return canBeReturned ? decisionOf(work.sql(RETURN).get(unitId, work.targetLanguage)) : null;
}

function decisionOf(row: Row | undefined): UnitTranslation['hold'] {
  if (row === undefined) return null;
  return {
    reviewer: row['reviewer'] as string | null,
    reason: row['reason'] as string | null,
    at: Number(row['at']),
  };
}
