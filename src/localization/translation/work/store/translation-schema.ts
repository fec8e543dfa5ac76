import type { Migration } from '../../../../engine/database/migrate.ts';

/**
 * The tables of the work on translations.
 *
 * `build` is a set of tasks. The current one has the tasks of the release that the parse index shows, and keeps its id over releases.
 * The tasks of changed containers grow in another one. In one transaction they move to the current build, and the tasks that they
 * replace take their place in the other one, which is then `superseded` and has the tasks that left with the release before. A
 * growing build that was given up is `dropped`. See ADR 24.
 *
 * `task` is one container, `task_unit` its units in order, and `chunk` the runs of units that workers lease. `task.made_in` is the
 * build in which a task grew, `leaves_in` the one that will take it out of the current build, and `content_key` the content of its
 * file. `build.release_since` is the first build of the current
 * release: how a unit follows the release before (`tier`, `carried_from`) counts for tasks that were made since. `carried` names the
 * units whose targets a growing build will change, and `staged` is the working table of that change. Source texts are in the parse
 * index.
 *
 * `check_cursor` is the last task of which the targets were checked, or evaluated by a provider, and the last unit of a task that is
 * not done yet.
 *
 * `review_row` is the working table of reviews: the targets that one of them accepts or returns, with their findings.
 *
 * `target` is the newest target of a unit, and `target_history` every target that was ever stored. Both belong to the unit and
 * the language, not to a task or a release. Each entry of the history names the previous one of its unit, and `target.entry`, or
 * `removed_target.entry` for a unit without a target, the newest one. An index of the history would cost one page for each new
 * target, because ids are digests; for the same reason the targets of equal sources are found by `task_unit.repetition`. `handoff_export` lists the files that were written for translators.
 * `proofread_container` names the containers of which a proofread accepted units.
 *
 * `task_unit.repetition` is equal for units that are translated once, and its first bytes for those of equal sources. `changed_repetition` names the groups whose other units may
 * need the target of one. `build.swept_task` and `swept_number` are the last unit of the current build of which the group was looked
 * for; NULL: nothing is left.
 * `task.repeats` says whether the rule of the container lets its units take part.
 *
 * `task.units_digest` is a digest of the units in their order, `has_moved` says whether one of them follows a unit of another place,
 * and `build.counted_until` how far the status of the tasks of a complete build was written.
 *
 * `task.judged_by` names the rules and the Glossary that all stored targets of a task were last judged by, and `judging_by` and
 * `judging_from` how far judging again has come. A target that was judged by something else removes them; `judging_resets` counts
 * how often such targets have made a run begin again.
 */
const WORK_SCHEMA = `
CREATE TABLE build (
  build_id INTEGER PRIMARY KEY AUTOINCREMENT,
  release_id TEXT NOT NULL,
  generation INTEGER NOT NULL,
  target_language TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('building', 'current', 'superseded', 'dropped')),
  release_since INTEGER,
  compared_until TEXT,
  is_compared INTEGER NOT NULL DEFAULT 0,
  cleaned_until INTEGER NOT NULL DEFAULT 0,
  is_clean INTEGER NOT NULL DEFAULT 0,
  counted_until INTEGER NOT NULL DEFAULT 0,
  swept_task INTEGER DEFAULT 0,
  swept_number INTEGER NOT NULL DEFAULT 0,
  started_at INTEGER NOT NULL,
  finished_at INTEGER
) STRICT;
CREATE UNIQUE INDEX build_current ON build (target_language) WHERE state = 'current';
CREATE UNIQUE INDEX build_building ON build (target_language) WHERE state = 'building';

CREATE TABLE task (
  task_seq INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id TEXT NOT NULL UNIQUE,
  build_id INTEGER NOT NULL REFERENCES build,
  made_in INTEGER NOT NULL REFERENCES build,
  leaves_in INTEGER REFERENCES build,
  content_key BLOB NOT NULL,
  target_language TEXT NOT NULL,
  destination TEXT NOT NULL,
  archive_entry TEXT,
  format TEXT NOT NULL,
  parse_status TEXT NOT NULL,
  is_visible INTEGER NOT NULL DEFAULT 0,
  repeats INTEGER NOT NULL DEFAULT 1,
  has_moved INTEGER NOT NULL DEFAULT 0,
  units_digest BLOB NOT NULL DEFAULT (x''),
  judged_by TEXT,
  judging_by TEXT,
  judging_from INTEGER NOT NULL DEFAULT -1,
  judging_resets INTEGER NOT NULL DEFAULT 0,
  stored_status TEXT CHECK (stored_status IN ('pending', 'in_progress', 'failed', 'skipped', 'published', 'superseded')),
  status TEXT NOT NULL,
  worker_status TEXT NOT NULL DEFAULT 'idle',
  reason TEXT,
  failure_reason TEXT,
  attempt INTEGER NOT NULL DEFAULT 0,
  max_attempts INTEGER NOT NULL DEFAULT 3,
  lease_owner TEXT,
  lease_expires_at INTEGER,
  next_attempt_at INTEGER,
  provider TEXT,
  provider_run_id TEXT,
  untranslated INTEGER NOT NULL DEFAULT 0,
  draft INTEGER NOT NULL DEFAULT 0,
  translated INTEGER NOT NULL DEFAULT 0,
  proofread INTEGER NOT NULL DEFAULT 0,
  blocked INTEGER NOT NULL DEFAULT 0,
  stale INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX task_container
  ON task (build_id, destination, archive_entry IS NULL, coalesce(archive_entry, ''), is_visible);
CREATE INDEX task_leaving ON task (leaves_in) WHERE leaves_in IS NOT NULL;
CREATE INDEX task_listed ON task (is_visible, status = 'superseded', task_seq);
CREATE INDEX task_destination ON task (destination, is_visible);
CREATE INDEX task_archive_entry ON task (archive_entry, is_visible);
CREATE INDEX task_status ON task (is_visible, status);
CREATE INDEX task_worker_status ON task (is_visible, worker_status);
CREATE INDEX task_parse_status ON task (is_visible, parse_status);
CREATE INDEX task_format ON task (is_visible, format);
CREATE INDEX task_reason ON task (is_visible) WHERE reason <> '';
CREATE INDEX task_failure_reason ON task (is_visible) WHERE failure_reason <> '';
CREATE VIEW task_of_release AS SELECT task.*, release_id, generation FROM task JOIN build USING (build_id);

CREATE TABLE task_unit (
  task_seq INTEGER NOT NULL REFERENCES task,
  number INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  unit_id BLOB NOT NULL,
  source_digest BLOB NOT NULL,
  repetition BLOB NOT NULL,
  tier TEXT,
  carried_from BLOB,
  PRIMARY KEY (task_seq, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_unit_unit ON task_unit (unit_id);
CREATE INDEX task_unit_repetition ON task_unit (repetition);
CREATE INDEX task_unit_carried_from ON task_unit (carried_from) WHERE carried_from IS NOT NULL;

CREATE TABLE chunk (
  task_seq INTEGER NOT NULL REFERENCES task,
  number INTEGER NOT NULL,
  open_units INTEGER NOT NULL,
  state TEXT NOT NULL DEFAULT 'idle' CHECK (state IN ('idle', 'leased', 'retry_wait', 'succeeded', 'failed', 'cancelled')),
  lease_owner TEXT,
  lease_token TEXT,
  lease_expires_at INTEGER,
  attempt INTEGER NOT NULL DEFAULT 0,
  next_attempt_at INTEGER NOT NULL DEFAULT 0,
  failure_reason TEXT,
  PRIMARY KEY (task_seq, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX chunk_open ON chunk (state, task_seq, number) WHERE open_units > 0;
CREATE INDEX chunk_leased ON chunk (lease_expires_at) WHERE state = 'leased';

CREATE TABLE target (
  unit_id BLOB NOT NULL,
  target_language TEXT NOT NULL,
  target_text TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('draft', 'translated', 'proofread', 'blocked', 'stale')),
  state_before TEXT,
  revision INTEGER NOT NULL,
  source_text TEXT NOT NULL,
  source_digest BLOB NOT NULL,
  author_kind TEXT NOT NULL CHECK (author_kind IN ('machine', 'person', 'import', 'memory')),
  token_id TEXT,
  provider TEXT,
  provider_run_id TEXT,
  findings TEXT NOT NULL DEFAULT '[]',
  qa_identity TEXT,
  propagated_from BLOB,
  updated_at INTEGER NOT NULL,
  entry INTEGER NOT NULL REFERENCES target_history,
  PRIMARY KEY (unit_id, target_language)
) STRICT;
CREATE INDEX target_of_memory ON target (target_language, source_digest) WHERE author_kind = 'memory';
CREATE INDEX target_blocked ON target (unit_id, target_language) WHERE state = 'blocked';
CREATE INDEX target_propagated ON target (propagated_from) WHERE propagated_from IS NOT NULL;

CREATE TABLE target_history (
  entry INTEGER PRIMARY KEY,
  entry_before INTEGER REFERENCES target_history,
  unit_id BLOB NOT NULL,
  target_language TEXT NOT NULL,
  revision INTEGER NOT NULL,
  target_text TEXT NOT NULL,
  state TEXT NOT NULL,
  source_text TEXT NOT NULL,
  source_digest BLOB NOT NULL,
  author_kind TEXT NOT NULL,
  token_id TEXT,
  reviewer TEXT,
  reviewer_token_id TEXT,
  reason TEXT,
  provider TEXT,
  provider_run_id TEXT,
  model TEXT,
  prompt_digest TEXT,
  glossary_generation INTEGER,
  propagated_from BLOB,
  task_id TEXT,
  release_id TEXT,
  at INTEGER NOT NULL
) STRICT;
CREATE TRIGGER target_history_unchanged BEFORE UPDATE ON target_history
  BEGIN SELECT raise(ABORT, 'the history of targets is append-only'); END;
CREATE TRIGGER target_history_kept BEFORE DELETE ON target_history
  BEGIN SELECT raise(ABORT, 'the history of targets is append-only'); END;

CREATE TABLE removed_target (
  unit_id BLOB NOT NULL,
  target_language TEXT NOT NULL,
  entry INTEGER NOT NULL REFERENCES target_history,
  PRIMARY KEY (unit_id, target_language)
) STRICT, WITHOUT ROWID;

CREATE TABLE carried (
  build_id INTEGER NOT NULL REFERENCES build,
  unit_id BLOB NOT NULL,
  from_unit_id BLOB,
  tier TEXT NOT NULL,
  source_digest BLOB NOT NULL,
  PRIMARY KEY (build_id, unit_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE staged (
  new_unit_id BLOB NOT NULL PRIMARY KEY,
  tier TEXT NOT NULL,
  new_source_digest BLOB NOT NULL,
  unit_id BLOB,
  target_text TEXT,
  state TEXT,
  state_before TEXT,
  revision INTEGER,
  source_text TEXT,
  source_digest BLOB,
  author_kind TEXT,
  token_id TEXT,
  provider TEXT,
  provider_run_id TEXT,
  findings TEXT,
  qa_identity TEXT,
  propagated_from BLOB,
  updated_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX staged_unit ON staged (unit_id);

CREATE TABLE waiver (
  unit_id BLOB NOT NULL,
  target_language TEXT NOT NULL,
  check_name TEXT NOT NULL,
  source_digest BLOB NOT NULL,
  target_digest BLOB NOT NULL,
  reviewer TEXT NOT NULL,
  reason TEXT NOT NULL,
  token_id TEXT,
  at INTEGER NOT NULL,
  PRIMARY KEY (unit_id, target_language, check_name, source_digest, target_digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE glossary_override (
  entry INTEGER PRIMARY KEY AUTOINCREMENT,
  qa_identity TEXT NOT NULL,
  unit_id BLOB NOT NULL,
  task_id TEXT NOT NULL,
  reviewer TEXT NOT NULL,
  reason TEXT NOT NULL,
  provenance TEXT NOT NULL,
  confirmed_at INTEGER NOT NULL,
  token_id TEXT,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX glossary_override_identity ON glossary_override (qa_identity);

CREATE TABLE claim (
  unit_id BLOB NOT NULL,
  target_language TEXT NOT NULL,
  owner TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (unit_id, target_language)
) STRICT, WITHOUT ROWID;

CREATE TABLE changed_repetition (
  entry INTEGER PRIMARY KEY AUTOINCREMENT,
  target_language TEXT NOT NULL,
  repetition BLOB NOT NULL,
  UNIQUE (target_language, repetition)
) STRICT;

CREATE TABLE proofread_container (
  destination TEXT NOT NULL,
  archive_entry TEXT,
  target_language TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX proofread_container_place
  ON proofread_container (target_language, destination, coalesce(archive_entry, ''));

CREATE TABLE hold (
  unit_id BLOB NOT NULL,
  target_language TEXT NOT NULL,
  reviewer TEXT,
  reason TEXT,
  at INTEGER NOT NULL,
  PRIMARY KEY (unit_id, target_language)
) STRICT, WITHOUT ROWID;

CREATE TABLE review_row (
  review_id TEXT NOT NULL,
  task_seq INTEGER NOT NULL,
  number INTEGER NOT NULL,
  line INTEGER NOT NULL,
  unit_id BLOB NOT NULL,
  requested_id BLOB NOT NULL,
  source_text TEXT NOT NULL,
  source_digest BLOB NOT NULL,
  target_text TEXT NOT NULL,
  revision INTEGER NOT NULL,
  judged_by TEXT,
  glossary_generation INTEGER,
  findings TEXT NOT NULL DEFAULT '[]',
  qa_identity TEXT,
  PRIMARY KEY (review_id, task_seq, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE check_cursor (
  name TEXT NOT NULL,
  target_language TEXT NOT NULL,
  task_seq INTEGER NOT NULL,
  number INTEGER,
  PRIMARY KEY (name, target_language)
) STRICT, WITHOUT ROWID;

CREATE TABLE handoff_export (
  entry INTEGER PRIMARY KEY AUTOINCREMENT,
  release_id TEXT NOT NULL,
  target_language TEXT NOT NULL,
  file TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  units INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
`;

/**
 * The texts of localized releases. `publication` is one such release, `publication_container` its patched containers, and
 * `published_text` the units of each of them with the beginnings of the digests of their text and its source. Containers with one patch key have the
 * same texts. `loose_patch_key` names the keys whose texts no release has, or not yet.
 */
const PUBLICATION_SCHEMA = `
CREATE TABLE publication (
  publication_id INTEGER PRIMARY KEY AUTOINCREMENT,
  localized_release_id TEXT NOT NULL,
  base_release_id TEXT NOT NULL,
  target_language TEXT NOT NULL,
  at INTEGER NOT NULL,
  current_since INTEGER,
  taken_back_at INTEGER,
  UNIQUE (target_language, localized_release_id)
) STRICT;

CREATE TABLE publication_container (
  publication_id INTEGER NOT NULL,
  destination TEXT NOT NULL,
  patch_key BLOB NOT NULL,
  PRIMARY KEY (publication_id, destination)
) STRICT, WITHOUT ROWID;
CREATE INDEX publication_container_key ON publication_container (patch_key);

CREATE TABLE published_text (
  patch_key BLOB NOT NULL,
  unit_id BLOB NOT NULL,
  target_digest BLOB NOT NULL,
  source_digest BLOB NOT NULL,
  PRIMARY KEY (patch_key, unit_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX published_text_unit ON published_text (unit_id);
CREATE INDEX published_text_source ON published_text (source_digest);

CREATE TABLE loose_patch_key (patch_key BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
`;

/** The schema of translation.db. Versions up to 4 were never released. */
export const TRANSLATION_MIGRATIONS: readonly Migration[] = [
  { version: 5, name: 'translation', sql: WORK_SCHEMA + PUBLICATION_SCHEMA },
];
