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
  // With as many units on both sides, no unit is left over when each task has its like.
  const other = database.prepare(`SELECT 1 FROM task
    LEFT JOIN task AS old ON old.build_id = :current AND old.destination = task.destination
      AND (old.archive_entry IS NULL) = (task.archive_entry IS NULL)
      AND coalesce(old.archive_entry, '') = coalesce(task.archive_entry, '')
      AND old.index_position = task.index_position AND old.format = task.format
      AND old.parse_status = task.parse_status AND old.units_digest = task.units_digest
    WHERE task.build_id = :build AND old.task_seq IS NULL LIMIT 1`);
  return (buildId) => {
    const found = current.get(buildId, targetLanguage);
    if (found === undefined) return null;
    const currentId = Number(found['build_id']);
    return other.get({ build: buildId, current: currentId }) === undefined ? currentId : null;
  };
}
