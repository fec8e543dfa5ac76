import type { Work } from './work.ts';

/**
 * The SQL condition that a person holds a unit or works on it, so that no worker and no job writes its target. The statement has
 * the parameters `:language` and `:now`, in Unix seconds.
 *
 * @param unit the SQL expression of the id of the unit
 */
export function isWithheld(unit: string): string {
  return `(EXISTS (SELECT 1 FROM hold WHERE hold.unit_id = ${unit} AND hold.target_language = :language)
    OR EXISTS (SELECT 1 FROM claim WHERE claim.unit_id = ${unit} AND claim.target_language = :language
    AND claim.expires_at > :now))`;
}

/** A claim of a person on a unit; `undefined` without one that has not expired. */
export function claimOn(work: Work, unitId: Uint8Array): { owner: string; expires_at: number } | undefined {
  const row = work
    .sql('SELECT owner, expires_at FROM claim WHERE unit_id = ? AND target_language = ? AND expires_at > ?')
    .get(unitId, work.targetLanguage, work.now());
  return row && { owner: String(row['owner']), expires_at: Number(row['expires_at']) };
}

/** Puts a unit on hold, unless it is. */
export function holdUnit(
  work: Work,
  unitId: Uint8Array,
  { reviewer, reason }: { readonly reviewer: string | null; readonly reason: string | null },
): void {
  work
    .sql('INSERT OR IGNORE INTO hold VALUES (?, ?, ?, ?, ?)')
    .run(unitId, work.targetLanguage, reviewer, reason, work.now());
}
