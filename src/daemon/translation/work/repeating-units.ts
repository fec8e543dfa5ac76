import type { Database } from '../../database/sqlite-database.ts';
import type { StoredOutcome, WorkerResult } from './lease-results.ts';
import { TASK_TAKES_TARGETS } from './open-tasks.ts';
import { CHUNK_UNITS } from './task-counts.ts';
import { isWithheld } from './withheld-units.ts';

/** Open units of one task that the job `propagate` gives the targets of other units. */
export interface RepeatingUnits {
  readonly taskSeq: number;
  readonly units: number;
}

/**
 * Creates the count of the open units that repeat the units of some stored results with a draft. Units of leased chunks are left out, because their
 * workers settle them; so are units that people hold or work on.
 *
 * @returns a function that gives the counts of the current tasks, each unit once
 */
export function createRepeatingUnits(
  database: Database,
  targetLanguage: string,
): (
  results: readonly WorkerResult[],
  outcomes: readonly StoredOutcome[],
  now: number,
) => readonly RepeatingUnits[] {
  const groups = database.prepare(
    `SELECT DISTINCT hex(repetition) AS repetition FROM task_unit JOIN task USING (task_seq) JOIN build USING (build_id)
     WHERE unit_id IN (SELECT unhex(value) FROM json_each(:ids)) AND repeats = 1
     AND build.target_language = :language AND build.state = 'current'`,
  );
  const count = database.prepare(
    `SELECT task_seq, count(*) AS units FROM task_unit JOIN task USING (task_seq) JOIN build USING (build_id)
     LEFT JOIN target ON target.unit_id = task_unit.unit_id AND target.target_language = :language
     WHERE repetition IN (SELECT unhex(value) FROM json_each(:groups)) AND repeats = 1
     AND build.target_language = :language AND build.state = 'current' AND ${TASK_TAKES_TARGETS}
     AND (target.unit_id IS NULL OR target.state = 'stale') AND NOT ${isWithheld('task_unit.unit_id')}
     AND NOT EXISTS (SELECT 1 FROM chunk WHERE chunk.task_seq = task_unit.task_seq
       AND chunk.number = task_unit.number / ${CHUNK_UNITS} AND chunk.state = 'leased')
     GROUP BY task_seq`,
  );
  return (results, outcomes, now) => {
    const drafts = results.filter((_, at) => outcomes[at] === 'draft');
    if (drafts.length === 0) return [];
    const ids = JSON.stringify(drafts.map(({ target }) => Buffer.from(target.unitId).toString('hex')));
    const found = groups.all({ ids, language: targetLanguage }).map((row) => row['repetition']);
    return count
      .all({ groups: JSON.stringify(found), language: targetLanguage, now })
      .map((row) => ({ taskSeq: Number(row['task_seq']), units: Number(row['units']) }));
  };
}
