/**
 * The lane of automatic repairs, and their attempts.
 *
 * SQLite cannot change a CHECK, so the table of tasks is copied. Its children are copied too: dropping a table deletes
 * the rows that refer to it. Source: sqlite.org/lang_altertable.html, "Making Other Kinds Of Table Schema Changes".
 *
 * `repair_attempt.subject` is the BLAKE3 of an object, `<channel>/<release_id>` for a manifest and its record, or
 * `upstream`. A row is kept for some time after the damage has ended, so that damage that comes back is not repaired in a tight loop.
 */
export const REPAIRS_MIGRATION = `
CREATE TABLE task_copy (
  seq                 INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id             TEXT NOT NULL UNIQUE,
  kind                TEXT NOT NULL,
  lane                TEXT NOT NULL CHECK (lane IN ('release', 'verify', 'repair', 'parse', 'i18n', 'admin')),
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

CREATE TABLE task_log_copy (
  task_id     TEXT NOT NULL REFERENCES task_copy (task_id) ON DELETE CASCADE,
  seq         INTEGER NOT NULL CHECK (seq >= 1),
  ts          INTEGER NOT NULL,
  level       TEXT NOT NULL CHECK (level IN ('debug', 'info', 'warn', 'error')),
  message     TEXT NOT NULL,
  fields_json TEXT,
  PRIMARY KEY (task_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency_copy (
  key_digest TEXT PRIMARY KEY,
  dedupe_key TEXT NOT NULL,
  task_id    TEXT NOT NULL REFERENCES task_copy (task_id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO task_copy SELECT * FROM task;
INSERT INTO task_log_copy SELECT * FROM task_log;
INSERT INTO idempotency_copy SELECT * FROM idempotency;
UPDATE sqlite_sequence SET seq = max(seq, (SELECT ifnull(max(old.seq), 0) FROM sqlite_sequence old WHERE old.name = 'task'))
  WHERE name = 'task_copy';
DROP TABLE task_log;
DROP TABLE idempotency;
DROP TABLE task;
ALTER TABLE task_copy RENAME TO task;
ALTER TABLE task_log_copy RENAME TO task_log;
ALTER TABLE idempotency_copy RENAME TO idempotency;

CREATE INDEX task_waiting ON task (lane, seq) WHERE status = 'queued';
CREATE INDEX task_live ON task (dedupe_key) WHERE status IN ('queued', 'running', 'cancelling');
CREATE INDEX task_ended ON task (finished_at) WHERE status IN ('succeeded', 'failed', 'cancelled');
CREATE INDEX task_by_status ON task (status);
CREATE INDEX task_live_of_schedule ON task (schedule_id) WHERE status IN ('queued', 'running', 'cancelling');
CREATE INDEX idempotency_by_age ON idempotency (created_at);
CREATE INDEX idempotency_by_task ON idempotency (task_id);

CREATE TABLE repair_attempt (
  subject     TEXT PRIMARY KEY,
  attempts    INTEGER NOT NULL CHECK (attempts >= 1),
  tried_at    INTEGER NOT NULL,
  next_at_ms  INTEGER NOT NULL,
  problem     TEXT
) STRICT, WITHOUT ROWID;
`;
