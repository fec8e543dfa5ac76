import type { Migration } from '../../../engine/database/migrate.ts';

/** "SLGT": the file of a Glossary. */
export const GLOSSARY_APPLICATION_ID = 0x53_4c_47_54;

/**
 * The tables of a Glossary.
 *
 * `term` holds the terms; a deleted one stays with its time. `source_fold` and `scope` (canonical) identify a live term
 * within its languages and category; `search_fold` is the folded source term and aliases, one a line. `review` is the
 * history, which only grows; `term` in it is the term after the change, as JSON. `glossary` has one row; its generation
 * grows with every change.
 */
const TABLES = `
CREATE TABLE glossary (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  generation INTEGER NOT NULL
) STRICT;
INSERT INTO glossary (id, generation) VALUES (1, 0);

CREATE TABLE term (
  term_id TEXT PRIMARY KEY,
  revision INTEGER NOT NULL,
  source_term TEXT NOT NULL,
  source_fold TEXT NOT NULL,
  search_fold TEXT NOT NULL,
  aliases TEXT NOT NULL,
  recommended_translation TEXT NOT NULL,
  allowed_translations TEXT NOT NULL,
  source_language TEXT NOT NULL,
  target_language TEXT NOT NULL,
  category TEXT NOT NULL,
  priority INTEGER NOT NULL,
  scope TEXT NOT NULL,
  review_status TEXT NOT NULL CHECK (review_status IN ('draft', 'approved', 'deprecated', 'rejected')),
  source_kind TEXT NOT NULL CHECK (source_kind IN ('manual', 'imported')),
  observed_at INTEGER NOT NULL,
  source_ref TEXT,
  source_author TEXT,
  source_note TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER
) STRICT;
CREATE UNIQUE INDEX live_term ON term (source_fold, source_language, target_language, scope, category)
  WHERE deleted_at IS NULL;

CREATE TABLE review (
  id INTEGER PRIMARY KEY,
  term_id TEXT NOT NULL REFERENCES term,
  revision INTEGER NOT NULL,
  action TEXT NOT NULL,
  from_status TEXT,
  to_status TEXT,
  reviewer TEXT,
  token_id TEXT,
  reason TEXT,
  at INTEGER NOT NULL,
  term TEXT NOT NULL
) STRICT;
CREATE INDEX review_term ON review (term_id, id);

CREATE TRIGGER review_is_not_changed BEFORE UPDATE ON review BEGIN
  SELECT RAISE(ABORT, 'the review history is append-only');
END;
CREATE TRIGGER review_is_not_deleted BEFORE DELETE ON review BEGIN
  SELECT RAISE(ABORT, 'the review history is append-only');
END;
`;

/** The steps of the schema. */
export const GLOSSARY_MIGRATIONS: readonly Migration[] = [{ version: 1, name: 'glossary', sql: TABLES }];
