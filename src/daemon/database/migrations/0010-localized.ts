/**
 * The rollbacks of the localized channel, and the patched files that can be used again: a patch key stands for the official
 * bytes, the rules, the patcher and all edits, so that equal keys have equal files.
 *
 * A rollback takes effect at `switched_at`; `held_units` is NULL until the units that it takes back are on hold; at
 * `reinstated_at` the release became current again. Automatic publishing is stopped while a rollback is not resumed.
 */
export const LOCALIZED_MIGRATION = `
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
