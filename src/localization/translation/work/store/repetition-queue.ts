import type { JudgedBy, Row } from './target-rows.ts';
import type { Work } from './work.ts';
import type { TargetsChanged } from '../../../text-events.ts';

/** Units that one step of the sweep reads. */
const SWEEP_UNITS = 2000;

const SWEPT_PART = `SELECT task_seq, number, repetition FROM task_unit JOIN task USING (task_seq)
  WHERE (task_seq, number) > (:task, :number) AND build_id = :build ORDER BY task_seq, number LIMIT ${SWEEP_UNITS}`;
// A group with a target, and with a unit that may need it.
const QUEUE_GROUP = `INSERT OR IGNORE INTO changed_repetition (target_language, repetition) SELECT :language, :repetition
  WHERE (SELECT count(*) FROM (SELECT 1 FROM task_unit WHERE repetition = :repetition LIMIT 2)) > 1
  AND EXISTS (SELECT 1 FROM task_unit JOIN target USING (unit_id)
    WHERE repetition = :repetition AND target_language = :language)`;

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

/** Reads a bounded part of the units of new tasks for repetitions. @returns whether there may be more */
export function sweepRepetitions(work: Work): boolean {
  return work.database.transaction(() => {
    const build = unsweptBuild(work);
    if (build === null) return false;
    const buildId = Number(build['build_id']);
    const place = { task: Number(build['swept_task']), number: Number(build['swept_number']) };
    const units = work.sql(SWEPT_PART).all({ build: buildId, ...place });
    const groups = units.map((row) => Buffer.from(row['repetition'] as Uint8Array));
    // Groups are digests: in their order, the index is read from one end to the other.
    for (const repetition of groups.sort((left, right) => Buffer.compare(left, right))) {
      work.sql(QUEUE_GROUP).run({ language: work.targetLanguage, repetition });
    }
    const last = units.length < SWEEP_UNITS ? undefined : units.at(-1);
    work
      .sql('UPDATE build SET swept_task = ?, swept_number = ? WHERE build_id = ?')
      .run(last?.['task_seq'] ?? null, last?.['number'] ?? 0, buildId);
    return last !== undefined;
  });
}

/** Reads all current tasks for repetitions again, because rules changed. */
export function sweepRepetitionsAgain(work: Work): void {
  work
    .sql(`UPDATE build SET swept_task = 0, swept_number = 0 WHERE target_language = ? AND state = 'current'`)
    .run(work.targetLanguage);
}

function unsweptBuild(work: Work): Row | null {
  const found = work
    .sql(
      `SELECT build_id, swept_task, swept_number FROM build
      WHERE target_language = ? AND state = 'current' AND swept_task IS NOT NULL`,
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
