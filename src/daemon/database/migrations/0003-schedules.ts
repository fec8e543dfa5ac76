/**
 * Schedules. `next_run` is null when a schedule no longer runs by itself; times are Unix seconds.
 *
 * `last_task_id` refers to no row: tasks are removed by age, schedules are not.
 */
export const SCHEDULES_MIGRATION = `
CREATE TABLE schedule (
  id              TEXT PRIMARY KEY,
  "group"         TEXT NOT NULL CHECK ("group" IN ('res', 'parse', 'i18n')),
  action          TEXT NOT NULL,
  args_json       TEXT NOT NULL,
  enabled         INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  next_run        INTEGER CHECK (next_run >= 0),
  every_seconds   INTEGER CHECK (every_seconds >= 1),
  max_runs        INTEGER CHECK (max_runs >= 1),
  run_count       INTEGER NOT NULL CHECK (run_count >= 0),
  last_run        INTEGER,
  last_task_id    TEXT,
  last_status     TEXT,
  skipped_overlap INTEGER NOT NULL CHECK (skipped_overlap >= 0),
  exhausted       INTEGER NOT NULL CHECK (exhausted IN (0, 1)),
  CHECK (enabled = 0 OR next_run IS NOT NULL)
) STRICT, WITHOUT ROWID;

CREATE INDEX schedule_due ON schedule (next_run) WHERE enabled = 1;
CREATE INDEX schedule_by_last_task ON schedule (last_task_id) WHERE last_task_id IS NOT NULL;
CREATE INDEX task_live_of_schedule ON task (schedule_id) WHERE status IN ('queued', 'running', 'cancelling');
`;
