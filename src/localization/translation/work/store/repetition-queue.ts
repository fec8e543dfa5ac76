import type { JudgedBy, Row } from './target-rows.ts';
import type { Work } from './work.ts';
import type { TargetsChanged } from '../../../text-events.ts';

/** Units that one step of the sweep reads. */
const SWEEP_UNITS = 2000;

/** Queues the repetitions of a unit whose target changed, if other units repeat it. They are stored, so that no end of the program loses them. */
export function noteRepetition(work: Work, unitId: Uint8Array): void {
  work
    .sql(
      `INSERT OR REPLACE INTO changed_repetition (target_language, repetition)
      SELECT ?, own.repetition FROM task_unit AS own WHERE own.unit_id = ? AND EXISTS (SELECT 1 FROM task_unit AS other
      WHERE other.repetition = own.repetition AND other.unit_id <> own.unit_id)`,
    )
    .run(work.targetLanguage, unitId);
}

/** Whether units may wait for the target of another one. */
export function wantsRepetitions(work: Work): boolean {
  const any = 'SELECT 1 FROM changed_repetition WHERE target_language = ? LIMIT 1';
  return unsweptBuild(work) !== null || work.sql(any).get(work.targetLanguage) !== undefined;
}

/** Reads a bounded part of new tasks for repetitions. @returns whether there may be more */
export function sweepRepetitions(work: Work): boolean {
  return work.database.transaction(() => {
    const build = unsweptBuild(work);
    if (build === null) return false;
    const groups = work
      .sql(
        `SELECT repetition, count(*) AS units FROM (SELECT repetition FROM task_unit
        WHERE repetition > ? ORDER BY repetition LIMIT ${SWEEP_UNITS}) GROUP BY repetition ORDER BY repetition`,
      )
      .all(build['swept_until'] ?? null);
    const translated = work.sql(`SELECT 1 FROM task_unit JOIN target USING (unit_id)
      WHERE repetition = ? AND target_language = ? LIMIT 1`);
    for (const [at, { repetition = null, units }] of groups.entries()) {
      // The last group can continue on the next page.
      const mayRepeat = Number(units) > 1 || at === groups.length - 1;
      if (!mayRepeat || translated.get(repetition, work.targetLanguage) === undefined) continue;
      work
        .sql('INSERT OR IGNORE INTO changed_repetition (target_language, repetition) VALUES (?, ?)')
        .run(work.targetLanguage, repetition);
    }
    const isLast = groups.reduce((sum, { units }) => sum + Number(units), 0) < SWEEP_UNITS;
    const until = isLast ? null : (groups.at(-1)?.['repetition'] ?? null);
    work.sql('UPDATE build SET swept_until = ? WHERE build_id = ?').run(until, build['build_id'] ?? null);
    return !isLast;
  });
}

/** Reads all current tasks for repetitions again, because rules changed. */
export function sweepRepetitionsAgain(work: Work): void {
  work
    .sql(`UPDATE build SET swept_until = x'' WHERE target_language = ? AND state = 'current'`)
    .run(work.targetLanguage);
}

function unsweptBuild(work: Work): Row | null {
  const found = work
    .sql(
      `SELECT build_id, swept_until FROM build
      WHERE target_language = ? AND state = 'current' AND swept_until IS NOT NULL`,
    )
    .get(work.targetLanguage);
  return found ?? null;
}

/** The groups after an entry, at most `limit`. */
export function queuedRepetitions(
  work: Work,
  entry: number,
  limit: number,
): readonly { readonly entry: number; readonly repetition: Uint8Array }[] {
  return work
    .sql(
      `SELECT entry, repetition FROM changed_repetition
      WHERE target_language = ? AND entry > ? ORDER BY entry LIMIT ?`,
    )
    .all(work.targetLanguage, entry, limit)
    .map((row) => ({ entry: Number(row['entry']), repetition: row['repetition'] as Uint8Array }));
}

/** Removes a group, unless it was noted again since. */
export function removeRepetition(work: Work, entry: number): void {
  work.sql('DELETE FROM changed_repetition WHERE entry = ?').run(entry);
}

/** Counts the groups that wait. */
export function countRepetitions(work: Work): number {
  const count = 'SELECT count(*) AS count FROM changed_repetition WHERE target_language = ?';
  return Number(work.sql(count).get(work.targetLanguage)?.['count'] ?? 0);
}

/**
 * The event of stored targets.
 *
 * @param change.judgedBy of the new targets
 * @param change.neverRepeats whether no unit can get a target from it
 */
export function targetsChanged(
  work: Work,
  change: {
    readonly judgedBy?: readonly (JudgedBy | null)[];
    readonly hasMoved?: boolean;
    readonly isOfRun?: boolean;
    readonly neverRepeats?: boolean;
  },
): TargetsChanged {
  const { judgedBy = [], hasMoved = false, isOfRun = false, neverRepeats = false } = change;
  return {
    kind: 'targets_changed',
    judgedBy: [...new Set(judgedBy.flatMap((by) => by?.key ?? []))],
    hasMoved,
    mayRepeat: !neverRepeats && wantsRepetitions(work),
    isOfRun,
  };
}
