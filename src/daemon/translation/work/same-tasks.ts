import type { Database } from '../../database/sqlite-database.ts';

/**
 * Creates the search for current tasks that a complete build only repeats, as one does after the same release was parsed again:
 * the same release, and in each container the same units in the same places.
 *
 * @returns a function of the build, which returns the id of the current build; `null` when its tasks are others
 */
export function createSameTasks(
  database: Database,
  targetLanguage: string,
): (buildId: number) => number | null {
  const current = database.prepare(`SELECT old.build_id FROM build AS old JOIN build ON build.build_id = ?
    WHERE old.target_language = ? AND old.state = 'current'
    AND old.release_id = build.release_id AND old.units = build.units`);
  // The plus keeps SQLite on the primary key of task_unit, in which the units are beside each other.
  // With as many units on both sides, no unit is left over when each one has its like.
  const other = database.prepare(`SELECT 1 FROM task CROSS JOIN task_unit AS unit USING (task_seq)
    LEFT JOIN task AS old ON old.build_id = :current AND old.destination = task.destination
      AND (old.archive_entry IS NULL) = (task.archive_entry IS NULL)
      AND coalesce(old.archive_entry, '') = coalesce(task.archive_entry, '')
      AND old.index_position = task.index_position AND old.format = task.format
      AND old.parse_status = task.parse_status
    LEFT JOIN task_unit AS old_unit ON old_unit.task_seq = old.task_seq AND old_unit.number = unit.number
      AND old_unit.ordinal = unit.ordinal AND +old_unit.unit_id = unit.unit_id
      AND old_unit.source_digest = unit.source_digest AND +old_unit.repetition = unit.repetition
    WHERE task.build_id = :build AND old_unit.unit_id IS NULL LIMIT 1`);
  return (buildId) => {
    const found = current.get(buildId, targetLanguage);
    if (found === undefined) return null;
    const currentId = Number(found['build_id']);
    return other.get({ build: buildId, current: currentId }) === undefined ? currentId : null;
  };
}
