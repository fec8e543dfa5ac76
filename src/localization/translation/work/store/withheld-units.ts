import type { Database } from '../../../../engine/database/sqlite-database.ts';

/** Latest time that a date can have, in Unix seconds. */
const LATEST_DATE = 8_640_000_000_000;

/**
 * The SQL expression of the end of a claim, in Unix seconds. A claim that an earlier version stored without a bound may end later
 * than a number can say, and reading it would fail.
 */
export const CLAIM_END = `min(expires_at, ${LATEST_DATE}) AS expires_at`;

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

/** Creates the question whether a person holds a unit or works on it. */
export function createWithheldQuery(
  database: Database,
  targetLanguage: string,
): (unitId: Uint8Array, now: number) => boolean {
  const find = database.prepare(`SELECT 1 WHERE ${isWithheld(':unit_id')}`);
  return (unitId, now) => find.get({ unit_id: unitId, language: targetLanguage, now }) !== undefined;
}
