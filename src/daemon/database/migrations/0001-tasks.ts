/**
 * Tasks, their logs and the idempotency keys of the loopback API.
 *
 * `seq` is the order in which tasks were accepted; unlike `task_id` it does not depend on the wall clock. Times are
 * Unix seconds, except `run_at_ms`, which backoff needs more exactly.
 */
export const TASKS_MIGRATION = `
CREATE TABLE task (
  seq                 INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id             TEXT NOT NULL UNIQUE,
  kind                TEXT NOT NULL,
  lane                TEXT NOT NULL CHECK (lane IN ('release', 'verify', 'parse', 'i18n', 'admin')),
  status              TEXT NOT NULL CHECK (status IN
                        ('queued', 'running', 'cancelling', 'succeeded', 'failed', 'cancelled')),
  args_json           TEXT NOT NULL,
  dedupe_key          TEXT NOT NULL,
  attempt             INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
  max_attempts        INTEGER NOT NULL CHECK (max_attempts >= 1),
  recoveries          INTEGER NOT NULL DEFAULT 0 CHECK (recoveries >= 0),
  run_at_ms           INTEGER NOT NULL,
  created_at          INTEGER NOT NULL,
  started_at          INTEGER,
  finished_at         INTEGER,
  heartbeat_at        INTEGER,
  boot_id             TEXT,
  cancel_requested_at INTEGER,
  cancel_reason       TEXT,
  progress_done       INTEGER,
  progress_total      INTEGER,
  progress_unit       TEXT,
  progress_phase      TEXT,
  result_json         TEXT,
  failure_code        TEXT,
  failure_reason      TEXT,
  schedule_id         TEXT,
  reviewer            TEXT,
  reason              TEXT,
  correlation_id      TEXT
) STRICT;

CREATE INDEX task_waiting ON task (lane, seq) WHERE status = 'queued';
CREATE INDEX task_live ON task (dedupe_key) WHERE status IN ('queued', 'running', 'cancelling');
CREATE INDEX task_ended ON task (finished_at) WHERE status IN ('succeeded', 'failed', 'cancelled');
CREATE INDEX task_by_status ON task (status);

CREATE TABLE task_log (
  task_id     TEXT NOT NULL REFERENCES task (task_id) ON DELETE CASCADE,
  seq         INTEGER NOT NULL CHECK (seq >= 1),
  ts          INTEGER NOT NULL,
  level       TEXT NOT NULL CHECK (level IN ('debug', 'info', 'warn', 'error')),
  message     TEXT NOT NULL,
  fields_json TEXT,
  PRIMARY KEY (task_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
  key_digest TEXT PRIMARY KEY,
  dedupe_key TEXT NOT NULL,
  task_id    TEXT NOT NULL REFERENCES task (task_id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_by_age ON idempotency (created_at);
CREATE INDEX idempotency_by_task ON idempotency (task_id);
`;
