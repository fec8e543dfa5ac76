import type { Database } from '../../../../engine/database/sqlite-database.ts';
import type { UnitTranslation } from '../../../parse/index/read/unit-translations.ts';
import { targetDigest } from '../store/accepted-findings.ts';
import type { Row, StoredTarget } from '../store/target-rows.ts';
import { CLAIM_END } from '../store/withheld-units.ts';

/** The decisions of people about one unit and its target. */
export interface UnitDecisions {
  readonly hold: UnitTranslation['hold'];
  /** `null` when it has expired. */
  readonly claim: UnitTranslation['claim'];
  /** The newest override for the Glossary diagnosis of the target. */
  overrideOf(target: StoredTarget): UnitTranslation['glossary_override'];
  /** The accepted findings of exactly this source and target. */
  waiversOf(target: StoredTarget): UnitTranslation['waivers'];
  /** The review that returned the target as it is now. */
  returnOf(target: StoredTarget): UnitTranslation['returned'];
}

/** States that a target has after a review has returned it. */
const RETURNED_STATES: ReadonlySet<StoredTarget['state']> = new Set(['draft', 'blocked']);

/** Creates the reader of decisions in one target language. */
export function createUnitDecisions(
  database: Database,
  targetLanguage: string,
): (unitId: Uint8Array, now: number) => UnitDecisions {
  const hold = database.prepare(
    'SELECT reviewer, reason, at FROM hold WHERE unit_id = ? AND target_language = ?',
  );
  const claim = database.prepare(
    `SELECT owner, ${CLAIM_END} FROM claim WHERE unit_id = ? AND target_language = ? AND claim.expires_at > ?`,
  );
  const override = database.prepare(`SELECT reviewer, reason, provenance, confirmed_at FROM glossary_override
    WHERE qa_identity = ? ORDER BY entry DESC LIMIT 1`);
  const waivers =
    database.prepare(`SELECT check_name, reviewer, reason, token_id, at FROM waiver WHERE unit_id = ?
    AND target_language = ? AND source_digest = ? AND target_digest = ? ORDER BY check_name`);
  // Only a review records the token of a reviewer.
  const review = database.prepare(`SELECT h.reviewer, h.reason, h.at FROM target
    JOIN target_history h ON h.entry = target.entry
    WHERE target.unit_id = ? AND target.target_language = ? AND h.reviewer_token_id IS NOT NULL`);
  return (unitId, now) => ({
    returnOf: ({ state }) => (RETURNED_STATES.has(state) ? holdOf(review.get(unitId, targetLanguage)) : null),
    hold: holdOf(hold.get(unitId, targetLanguage)),
    claim: claimOf(claim.get(unitId, targetLanguage, now)),
    overrideOf: ({ qaIdentity }) => (qaIdentity === null ? null : overrideFields(override.get(qaIdentity))),
    waiversOf: ({ findings, sourceDigest, text }) =>
      findings.length === 0
        ? []
        : waivers.all(unitId, targetLanguage, sourceDigest, targetDigest(text)).map(waiverFields),
  });
}

function holdOf(row: Row | undefined): UnitDecisions['hold'] {
  if (row === undefined) return null;
  return {
    reviewer: row['reviewer'] as string | null,
    reason: row['reason'] as string | null,
    at: Number(row['at']),
  };
}

function claimOf(row: Row | undefined): UnitDecisions['claim'] {
  return row === undefined ? null : { owner: String(row['owner']), expires_at: Number(row['expires_at']) };
}

function overrideFields(row: Row | undefined): UnitTranslation['glossary_override'] {
  if (row === undefined) return null;
  return {
    reviewer: String(row['reviewer']),
    reason: String(row['reason']),
    provenance: String(row['provenance']),
    confirmed_at: Number(row['confirmed_at']),
  };
}

function waiverFields(row: Row): UnitTranslation['waivers'][number] {
  return {
    check: String(row['check_name']),
    reviewer: String(row['reviewer']),
    reason: String(row['reason']),
    token_id: row['token_id'] as string | null,
    at: Number(row['at']),
  };
}
