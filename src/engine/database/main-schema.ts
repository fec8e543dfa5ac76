import type { Migration } from './migrate.ts';

/**
 * Tasks, their logs and the idempotency keys of the loopback API.
 *
 * `seq` is the order in which tasks were accepted; unlike `task_id` it does not depend on the wall clock. Times are
 * Unix seconds, except `run_at_ms`, which backoff needs more exactly. `traceparent` and `tracestate` are the fields of W3C Trace
 * Context of the request that queued a task; both are NULL for a task without a trace.
 */
const TASKS = `
CREATE TABLE task (
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
  correlation_id      TEXT,
  traceparent         TEXT,
  tracestate          TEXT
) STRICT;

CREATE INDEX task_waiting ON task (lane, seq) WHERE status = 'queued';
CREATE INDEX task_live ON task (dedupe_key) WHERE status IN ('queued', 'running', 'cancelling');
CREATE INDEX task_ended ON task (finished_at) WHERE status IN ('succeeded', 'failed', 'cancelled');
CREATE INDEX task_by_status ON task (status);
CREATE INDEX task_by_kind ON task (kind, seq);
CREATE INDEX task_live_of_schedule ON task (schedule_id) WHERE status IN ('queued', 'running', 'cancelling');

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

/**
 * Schedules. `next_run` is null when a schedule no longer runs automatically; times are Unix seconds.
 *
 * `last_task_id` refers to no row: tasks are removed by age, schedules are not.
 */
const SCHEDULES = `
CREATE TABLE schedule (
  id              TEXT PRIMARY KEY,
  "group"         TEXT NOT NULL CHECK ("group" IN ('res', 'parse', 'i18n')),
  action          TEXT NOT NULL,
  args_json       TEXT NOT NULL,
  origin          TEXT NOT NULL CHECK (origin IN ('configured', 'manual', 'controller')),
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
`;

/**
 * Releases, the catalogs they were made from, and what is known of the objects of the store.
 *
 * `catalog_entry` is keyed by text in BINARY collation: its order is the byte order of the UTF-8 text, the order of a
 * manifest, so that releases of any size are written, compared and paged without holding them in memory.
 *
 * Attestation versions up to `reserved_version` may have been issued, even if the database could not store them.
 * `announced_release` becomes current at `current_at`, Unix seconds.
 */
const RELEASES = `
CREATE TABLE catalog_revision (
  revision_id         INTEGER PRIMARY KEY,
  channel             TEXT NOT NULL CHECK (channel IN ('official', 'localized')),
  upstream_label      TEXT NOT NULL,
  upstream_release_id TEXT NOT NULL,
  fingerprint         TEXT,
  etag                TEXT,
  task_id             TEXT NOT NULL,
  app_version         TEXT,
  excluded_count      INTEGER NOT NULL DEFAULT 0 CHECK (excluded_count >= 0),
  server_info         BLOB,
  entry_count         INTEGER NOT NULL DEFAULT 0 CHECK (entry_count >= 0),
  stated_bytes        INTEGER NOT NULL DEFAULT 0 CHECK (stated_bytes >= 0),
  complete            INTEGER NOT NULL DEFAULT 0 CHECK (complete IN (0, 1)),
  fetched_at          INTEGER NOT NULL
) STRICT;

CREATE TABLE catalog_entry (
  revision_id   INTEGER NOT NULL REFERENCES catalog_revision (revision_id) ON DELETE CASCADE,
  destination   TEXT NOT NULL COLLATE BINARY,
  folded        TEXT,
  source        TEXT NOT NULL CHECK (source IN ('official', 'localized')),
  media_type    TEXT,
  stated_size   INTEGER CHECK (stated_size >= 0),
  stated_blake3 TEXT,
  stated_sha256 TEXT,
  stated_md5    TEXT,
  stated_crc32  TEXT,
  locator       TEXT NOT NULL,
  blake3        TEXT,
  PRIMARY KEY (revision_id, destination)
) STRICT, WITHOUT ROWID;

CREATE INDEX catalog_entry_by_object ON catalog_entry (blake3, revision_id) WHERE blake3 IS NOT NULL;

CREATE TABLE known_object (
  blake3      TEXT PRIMARY KEY,
  size        INTEGER NOT NULL CHECK (size >= 0),
  crc64       TEXT NOT NULL,
  blocks      TEXT,
  sound       INTEGER NOT NULL DEFAULT 1 CHECK (sound IN (0, 1)),
  verified_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX known_object_damaged ON known_object (blake3) WHERE sound = 0;

CREATE TABLE release (
  channel             TEXT NOT NULL CHECK (channel IN ('official', 'localized')),
  release_id          TEXT NOT NULL,
  upstream_release_id TEXT NOT NULL,
  state               TEXT NOT NULL CHECK (state IN
                        ('staging', 'verified', 'current', 'superseded', 'damaged', 'deleted', 'failed')),
  base_release_id     TEXT,
  revision_id         INTEGER REFERENCES catalog_revision (revision_id),
  content_digest      TEXT,
  snapshot_id         TEXT,
  manifest_sha256     TEXT,
  entry_count         INTEGER NOT NULL DEFAULT 0,
  total_bytes         INTEGER NOT NULL DEFAULT 0,
  app_version         TEXT,
  excluded_count      INTEGER NOT NULL DEFAULT 0 CHECK (excluded_count >= 0),
  server_info_blake3  TEXT,
  server_info_size    INTEGER,
  created_at          INTEGER NOT NULL,
  published_at        INTEGER,
  superseded_at       INTEGER,
  verified_at         INTEGER,
  checked_at          INTEGER,
  damaged_at          INTEGER,
  damage_message      TEXT,
  damage_reason       TEXT CHECK (damage_reason IN ('SnapshotMissing', 'ManifestDamaged')),
  stale_since         INTEGER,
  deleted_at          INTEGER,
  pinned              INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
  PRIMARY KEY (channel, release_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX release_by_name ON release (release_id);
CREATE INDEX release_by_revision ON release (revision_id);

CREATE TABLE current_release (
  channel    TEXT PRIMARY KEY CHECK (channel IN ('official', 'localized')),
  release_id TEXT NOT NULL,
  since      INTEGER NOT NULL,
  FOREIGN KEY (channel, release_id) REFERENCES release (channel, release_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE announced_release (
  channel    TEXT PRIMARY KEY CHECK (channel IN ('official', 'localized')),
  release_id TEXT NOT NULL,
  current_at INTEGER NOT NULL,
  FOREIGN KEY (channel, release_id) REFERENCES release (channel, release_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE damaged_entry (
  channel     TEXT NOT NULL,
  release_id  TEXT NOT NULL,
  destination TEXT NOT NULL COLLATE BINARY,
  blake3      TEXT NOT NULL,
  status      TEXT NOT NULL CHECK (status IN ('missing', 'size_mismatch', 'digest_mismatch', 'unreadable')),
  found_at    INTEGER NOT NULL,
  found_by    TEXT NOT NULL CHECK (found_by IN ('server', 'verify', 'refresh', 'repair', 'sync', 'publish', 'boot')),
  PRIMARY KEY (channel, release_id, destination),
  FOREIGN KEY (channel, release_id) REFERENCES release (channel, release_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE attestation_state (
  store_id         TEXT PRIMARY KEY,
  version          INTEGER NOT NULL CHECK (version >= 0),
  reserved_version INTEGER NOT NULL DEFAULT 0 CHECK (reserved_version >= 0),
  payload_sha256   TEXT,
  envelope         BLOB,
  issued_at        INTEGER,
  expires_at       INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE upstream_probe (
  upstream_label TEXT PRIMARY KEY,
  ok             INTEGER NOT NULL CHECK (ok IN (0, 1)),
  message        TEXT NOT NULL,
  checked_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`;

/**
 * The outbox of release events, and which of their subscribers got a task. `delivered` is 1 when all of them have.
 *
 * `task_id` refers to no row: tasks are removed by age. It is null when a subscriber had no use for the event.
 */
const EVENTS = `
CREATE TABLE release_event (
  event_id            INTEGER PRIMARY KEY AUTOINCREMENT,
  channel             TEXT NOT NULL CHECK (channel IN ('official', 'localized')),
  release_id          TEXT NOT NULL,
  snapshot_id         TEXT NOT NULL,
  previous_release_id TEXT,
  at                  INTEGER NOT NULL,
  delivered           INTEGER NOT NULL DEFAULT 0 CHECK (delivered IN (0, 1))
) STRICT;

CREATE INDEX release_event_waiting ON release_event (event_id) WHERE delivered = 0;

CREATE TABLE event_delivery (
  event_id   INTEGER NOT NULL REFERENCES release_event (event_id) ON DELETE CASCADE,
  subscriber TEXT NOT NULL,
  task_id    TEXT,
  PRIMARY KEY (event_id, subscriber)
) STRICT, WITHOUT ROWID;
`;

/**
 * The attempts of automatic repairs. `subject` is the BLAKE3 of an object, `<channel>/<release_id>` for a manifest and its record,
 * or `upstream`. A row is kept for some time after the damage has ended, so that damage that comes back is not repaired in a tight
 * loop.
 */
const REPAIRS = `
CREATE TABLE repair_attempt (
  subject     TEXT PRIMARY KEY,
  attempts    INTEGER NOT NULL CHECK (attempts >= 1),
  tried_at    INTEGER NOT NULL,
  next_at_ms  INTEGER NOT NULL,
  problem     TEXT
) STRICT, WITHOUT ROWID;
`;

/**
 * The rollbacks of the localized channel, and the patched files that can be used again: a patch key is computed from the
 * official bytes, the rules, the patcher and all edits, so equal keys have equal files.
 *
 * A rollback takes effect at `switched_at`; `held_units` is NULL until the units that it takes back are on hold; at
 * `reinstated_at` the release became current again. Automatic publishing is stopped while a rollback is not resumed.
 */
const LOCALIZED = `
CREATE TABLE localized_rollback (
  task_id         TEXT PRIMARY KEY,
  from_release_id TEXT NOT NULL,
  to_release_id   TEXT,
  reviewer        TEXT,
  reason          TEXT,
  at              INTEGER NOT NULL,
  switched_at     INTEGER,
  held_units      INTEGER CHECK (held_units >= 0),
  reinstated_at   INTEGER,
  resumed_at      INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE patched_container (
  patch_key  TEXT PRIMARY KEY,
  blake3     TEXT NOT NULL,
  size       INTEGER NOT NULL CHECK (size >= 0),
  patched_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`;

/**
 * What an edge remembers of its origin. `origin_attestation` is the newest attestation that it accepted of each store, so that
 * neither a restart nor another address of the origin lets it take a step back. `origin_naming` is when the origin last named a
 * release, and with which key: each release is served only for so long after that, and a key that is no longer trusted supports
 * no release.
 */
const ORIGIN = `
CREATE TABLE origin_attestation (
  store_id       TEXT PRIMARY KEY,
  version        INTEGER NOT NULL CHECK (version > 0),
  payload_sha256 TEXT NOT NULL,
  issued_at      INTEGER NOT NULL,
  envelope       BLOB NOT NULL,
  cdn_host       TEXT,
  accepted_order INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE origin_naming (
  channel     TEXT NOT NULL CHECK (channel IN ('official', 'localized')),
  release_id  TEXT NOT NULL,
  snapshot_id TEXT NOT NULL,
  key_id      TEXT NOT NULL,
  named_at    INTEGER NOT NULL,
  PRIMARY KEY (channel, release_id, snapshot_id, key_id)
) STRICT, WITHOUT ROWID;
`;

/** The schema of main.db. Versions up to 16 were never released. */
export const MAIN_MIGRATIONS: readonly Migration[] = [
  {
    version: 17,
    name: 'main',
    sql: TASKS + SCHEDULES + RELEASES + EVENTS + REPAIRS + LOCALIZED + ORIGIN,
  },
];
