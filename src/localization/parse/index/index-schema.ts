import { PARSE_ERROR_CODES, type ParseErrorCode } from '../../../contract/reports/parse-error-codes.ts';

/** Version of {@link INDEX_SCHEMA}. A change of the schema raises it, and the index is then built again. */
export const INDEX_SCHEMA_VERSION = 2;

/**
 * The tables of the parse index.
 *
 * `content` is the text that one container's bytes gave. Releases share it, so an unchanged container is neither parsed nor
 * stored again. `release_index` is one indexing of one release; `container` is its list of files; `ambiguity` is
 * a warning about the name of a file among the others of its release. A run of units with equal
 * archive entry, object and format is a `leaf`. `pair` says what became of units since the previous release, in runs;
 * containers with unchanged content have no rows there. `leftover` and `wanderer` are the working tables of one carry-over.
 */
export const INDEX_SCHEMA = `
CREATE TABLE content (
  content_id INTEGER PRIMARY KEY AUTOINCREMENT,
  state TEXT NOT NULL CHECK (state IN ('building', 'complete', 'dropped')),
  blake3 BLOB NOT NULL,
  destination_key TEXT NOT NULL,
  parser_version TEXT NOT NULL,
  rules_digest BLOB NOT NULL,
  is_reusable INTEGER NOT NULL DEFAULT 0,
  parse_status TEXT,
  format TEXT,
  units INTEGER NOT NULL DEFAULT 0,
  errors INTEGER NOT NULL DEFAULT 0,
  warnings INTEGER NOT NULL DEFAULT 0,
  skipped TEXT NOT NULL DEFAULT '{}',
  seconds REAL NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX content_key ON content (blake3, destination_key, parser_version, rules_digest)
  WHERE state = 'complete' AND is_reusable = 1;
CREATE INDEX content_bytes ON content (blake3) WHERE state = 'complete' AND is_reusable = 1;
CREATE INDEX content_state ON content (state) WHERE state <> 'complete';

CREATE TABLE leaf (
  content_id INTEGER NOT NULL REFERENCES content,
  first_ordinal INTEGER NOT NULL,
  units INTEGER NOT NULL,
  archive_entry TEXT,
  path_id INTEGER,
  class_id INTEGER,
  format TEXT NOT NULL,
  PRIMARY KEY (content_id, first_ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX leaf_path_id ON leaf (path_id) WHERE path_id IS NOT NULL;
CREATE INDEX leaf_archive_entry ON leaf (archive_entry) WHERE archive_entry IS NOT NULL;

CREATE TABLE unit (
  content_id INTEGER NOT NULL REFERENCES content,
  ordinal INTEGER NOT NULL,
  unit_id BLOB NOT NULL,
  source_digest BLOB NOT NULL,
  field_path TEXT NOT NULL,
  key_path TEXT NOT NULL,
  source_text TEXT NOT NULL,
  speaker TEXT,
  scene TEXT,
  PRIMARY KEY (content_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE parse_error (
  content_id INTEGER NOT NULL REFERENCES content,
  number INTEGER NOT NULL,
  archive_entry TEXT,
  path_id INTEGER,
  class_id INTEGER,
  field_path TEXT,
  format TEXT NOT NULL,
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  severity TEXT NOT NULL,
  first_seen INTEGER NOT NULL,
  PRIMARY KEY (content_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE release_index (
  index_id INTEGER PRIMARY KEY AUTOINCREMENT,
  release_id TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('indexing', 'complete', 'dropped')),
  parser_version TEXT NOT NULL,
  rules_digest BLOB NOT NULL,
  previous_index_id INTEGER,
  generation INTEGER NOT NULL DEFAULT 0,
  indexed_at INTEGER,
  totals TEXT
) STRICT;

CREATE TABLE container (
  index_id INTEGER NOT NULL REFERENCES release_index,
  position INTEGER NOT NULL,
  destination TEXT NOT NULL,
  destination_key TEXT NOT NULL,
  blake3 BLOB NOT NULL,
  rules_digest BLOB NOT NULL,
  content_id INTEGER REFERENCES content,
  units_before INTEGER NOT NULL DEFAULT 0,
  is_unchanged INTEGER NOT NULL DEFAULT 0,
  ambiguity TEXT,
  ambiguous_since INTEGER,
  PRIMARY KEY (index_id, position)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX container_destination ON container (index_id, destination);
CREATE UNIQUE INDEX container_key ON container (index_id, destination_key);
CREATE INDEX container_content ON container (content_id);

CREATE TABLE pair (
  index_id INTEGER NOT NULL REFERENCES release_index,
  side TEXT NOT NULL CHECK (side IN ('new', 'old')),
  position INTEGER NOT NULL,
  first_ordinal INTEGER NOT NULL,
  units INTEGER NOT NULL,
  tier TEXT NOT NULL CHECK (tier IN ('same', 'moved', 'unique', 'changed', 'new', 'removed')),
  old_position INTEGER,
  old_first_ordinal INTEGER,
  old_unit_id BLOB,
  PRIMARY KEY (index_id, side, position, first_ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE leftover (
  side TEXT NOT NULL CHECK (side IN ('new', 'old')),
  position INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  unit_id BLOB NOT NULL,
  single_text BLOB,
  context BLOB,
  PRIMARY KEY (side, position, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE wanderer (
  side TEXT NOT NULL CHECK (side IN ('new', 'old')),
  context BLOB NOT NULL,
  position INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  PRIMARY KEY (side, context, position, ordinal)
) STRICT, WITHOUT ROWID;
`;

/** The code of a warning that belongs to a file of a release, not to its content. */
const AMBIGUITY_CODE = 'duplicate_unit_key' satisfies ParseErrorCode;

/**
 * All errors and warnings, of contents and of the names of files, as a table for FROM. Numbers give their order within a file.
 */
export const FOUND_ERRORS = `(
  SELECT index_id, position, number, destination, parse_status, archive_entry, path_id, class_id, parse_error.format, field_path,
    code, message, severity, first_seen
  FROM container JOIN content USING (content_id) JOIN parse_error USING (content_id)
  UNION ALL
  SELECT index_id, position, errors + warnings, destination, parse_status, NULL, NULL, NULL, coalesce(format, 'unknown'), NULL,
    '${AMBIGUITY_CODE}', ambiguity, '${PARSE_ERROR_CODES[AMBIGUITY_CODE].severity}', ambiguous_since
  FROM container JOIN content USING (content_id) WHERE ambiguity IS NOT NULL
) AS found`;
