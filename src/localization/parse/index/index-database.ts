import { rmSync } from '../../../platform/files/file-changes.ts';
import { DatabaseDamagedError, ForeignDatabaseError } from '../../../engine/database/database-error.ts';
import { keepAside } from '../../../engine/database/keep-aside.ts';
import { openSqliteDatabase, type Database } from '../../../engine/database/sqlite-database.ts';
import { messageOf } from '../../../platform/errors.ts';
import { CARRY_TIERS, PARSE_STATUSES } from '../../../contract/schemas/vocabulary.ts';
import {
  bytes,
  COMPARED_TEXT,
  COUNT,
  createTablesOf,
  DURATION,
  FLAG,
  FREE_INTEGER,
  FREE_TEXT,
  JSON_OBJECT,
  NAME,
  nullable,
  oneOf,
  PATH,
  POSITIVE,
  RELEASE_ID,
  SECONDS,
  type TableRules,
  withSql,
} from '../../../engine/database/column-rules.ts';
import { SOURCE_DIGEST_BYTES, UNIT_ID_BYTES } from '../container/parsed-container.ts';
import { TEXT_BYTES } from './carry/unit-columns.ts';
import { PARSE_ERROR_CODES, type ParseErrorCode } from '../../../contract/reports/parse-error-codes.ts';

/** Version of {@link INDEX_SCHEMA}. A change of the schema raises it, and the index is then built again. */
export const INDEX_SCHEMA_VERSION = 3;

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

const UNIT_ID = bytes(UNIT_ID_BYTES);
const DIGEST_BYTES = bytes(32);
const SIDE = oneOf(['new', 'old']);
const CONTEXT = bytes(3 * TEXT_BYTES);
const LOCATION = {
  archive_entry: nullable(FREE_TEXT),
  path_id: nullable(FREE_INTEGER),
  class_id: nullable(FREE_INTEGER),
};

export const INDEX_TABLES = {
  content: {
    content_id: withSql(POSITIVE, 'PRIMARY KEY AUTOINCREMENT'),
    state: oneOf(['building', 'complete', 'dropped']),
    blake3: DIGEST_BYTES,
    // A destination, or the glob of people that names it.
    destination_key: COMPARED_TEXT,
    parser_version: COMPARED_TEXT,
    rules_digest: DIGEST_BYTES,
    is_reusable: withSql(FLAG, 'DEFAULT 0'),
    parse_status: nullable(oneOf(PARSE_STATUSES)),
    format: nullable(NAME),
    units: withSql(COUNT, 'DEFAULT 0'),
    errors: withSql(COUNT, 'DEFAULT 0'),
    warnings: withSql(COUNT, 'DEFAULT 0'),
    skipped: withSql(JSON_OBJECT, "DEFAULT '{}'"),
    seconds: withSql(DURATION, 'DEFAULT 0'),
    bytes: withSql(COUNT, 'DEFAULT 0'),
  },
  leaf: {
    content_id: withSql(POSITIVE, 'REFERENCES content'),
    first_ordinal: COUNT,
    units: COUNT,
    ...LOCATION,
    format: NAME,
  },
  unit: {
    content_id: withSql(POSITIVE, 'REFERENCES content'),
    ordinal: COUNT,
    unit_id: UNIT_ID,
    source_digest: bytes(SOURCE_DIGEST_BYTES),
    field_path: FREE_TEXT,
    key_path: FREE_TEXT,
    source_text: FREE_TEXT,
    speaker: nullable(FREE_TEXT),
    scene: nullable(FREE_TEXT),
  },
  parse_error: {
    content_id: withSql(POSITIVE, 'REFERENCES content'),
    number: COUNT,
    ...LOCATION,
    field_path: nullable(FREE_TEXT),
    format: NAME,
    code: NAME,
    message: FREE_TEXT,
    severity: oneOf(['error', 'warning']),
    first_seen: SECONDS,
  },
  release_index: {
    index_id: withSql(POSITIVE, 'PRIMARY KEY AUTOINCREMENT'),
    release_id: RELEASE_ID,
    state: oneOf(['indexing', 'complete', 'dropped']),
    parser_version: COMPARED_TEXT,
    rules_digest: DIGEST_BYTES,
    previous_index_id: nullable(POSITIVE),
    generation: withSql(COUNT, 'DEFAULT 0'),
    indexed_at: nullable(SECONDS),
    totals: nullable(JSON_OBJECT),
  },
  container: {
    index_id: withSql(POSITIVE, 'REFERENCES release_index'),
    position: COUNT,
    destination: PATH,
    // A destination, or the glob of people that names it.
    destination_key: COMPARED_TEXT,
    blake3: DIGEST_BYTES,
    rules_digest: DIGEST_BYTES,
    content_id: withSql(nullable(POSITIVE), 'REFERENCES content'),
    units_before: withSql(COUNT, 'DEFAULT 0'),
    is_unchanged: withSql(FLAG, 'DEFAULT 0'),
    ambiguity: nullable(FREE_TEXT),
    ambiguous_since: nullable(SECONDS),
  },
  pair: {
    index_id: withSql(POSITIVE, 'REFERENCES release_index'),
    side: SIDE,
    position: COUNT,
    first_ordinal: COUNT,
    units: COUNT,
    tier: oneOf([...CARRY_TIERS, 'new', 'removed']),
    old_position: nullable(COUNT),
    old_first_ordinal: nullable(COUNT),
    old_unit_id: nullable(UNIT_ID),
  },
  leftover: {
    side: SIDE,
    position: COUNT,
    ordinal: COUNT,
    unit_id: UNIT_ID,
    single_text: nullable(bytes(TEXT_BYTES)),
    context: nullable(CONTEXT),
  },
  wanderer: {
    side: SIDE,
    context: CONTEXT,
    position: COUNT,
    ordinal: COUNT,
  },
} satisfies TableRules;

const table = createTablesOf(INDEX_TABLES);

/**
 * The tables of the parse index.
 *
 * `content` is the text that one container's bytes gave. Releases share it, so an unchanged container is neither parsed nor
 * stored again. `release_index` is one indexing of one release; `container` is its list of files; `ambiguity` is
 * a warning about the name of a file among the others of its release. A run of units with equal
 * archive entry, object and format is a `leaf`. `pair` says what became of units since the previous release, in runs;
 * containers with unchanged content have no rows there. `leftover` and `wanderer` are the working tables of one carry-over.
 */
const INDEX_SCHEMA = `
${table('content')}
CREATE UNIQUE INDEX content_key ON content (blake3, destination_key, parser_version, rules_digest)
  WHERE state = 'complete' AND is_reusable = 1;
CREATE INDEX content_bytes ON content (blake3) WHERE state = 'complete' AND is_reusable = 1;
CREATE INDEX content_state ON content (state) WHERE state <> 'complete';

${table('leaf', 'PRIMARY KEY (content_id, first_ordinal)')}
CREATE INDEX leaf_path_id ON leaf (path_id) WHERE path_id IS NOT NULL;
CREATE INDEX leaf_archive_entry ON leaf (archive_entry) WHERE archive_entry IS NOT NULL;

${table('unit', 'PRIMARY KEY (content_id, ordinal)')}

${table('parse_error', 'PRIMARY KEY (content_id, number)')}

${table('release_index')}

${table('container', 'PRIMARY KEY (index_id, position)')}
CREATE UNIQUE INDEX container_destination ON container (index_id, destination);
CREATE UNIQUE INDEX container_key ON container (index_id, destination_key);
CREATE INDEX container_content ON container (content_id);

${table('pair', 'PRIMARY KEY (index_id, side, position, first_ordinal)')}

${table('leftover', 'PRIMARY KEY (side, position, ordinal)')}

${table('wanderer', 'PRIMARY KEY (side, context, position, ordinal)')}
`;

/** "SLI" and the version of the schema: a file of another version is treated as one of another program. */
const APPLICATION_ID = 0x53_4c_49_00 + INDEX_SCHEMA_VERSION;
const SUFFIXES = ['', '-wal', '-shm'];
/** One damaged file is kept for diagnosis: an index may have hundreds of megabytes. */
const KEPT_DAMAGED = 1;

/**
 * Opens the database of the parse index. A file that is damaged is set aside, one that has another schema is deleted, and an
 * empty one takes its place: parsing the release fills it again.
 *
 * @param path the file; `:memory:` in tests
 * @param now for the name of a damaged file
 * @throws DatabaseError when the file cannot be opened or written
 */
export function openIndexDatabase(
  path: string,
  now: Date,
): {
  readonly database: Database;
  /** The problem of the old file; `null` when the file was sound or missing. */
  readonly rebuilt: string | null;
} {
  try {
    return { database: open(path), rebuilt: null };
  } catch (error) {
    if (!(error instanceof DatabaseDamagedError || error instanceof ForeignDatabaseError)) throw error;
    if (error instanceof DatabaseDamagedError) setIndexAside(path, now);
    else for (const suffix of SUFFIXES) rmSync(`${path}${suffix}`, { force: true });
    return { database: open(path), rebuilt: messageOf(error) };
  }
}

/** Renames the files of a damaged index. Nothing in them is lost: parsing the release makes them again. */
export function setIndexAside(path: string, now: Date): void {
  keepAside(path, now, SUFFIXES, KEPT_DAMAGED);
}

function open(path: string): Database {
  const database = openSqliteDatabase({
    path,
    migrations: [{ version: 1, name: 'index', sql: INDEX_SCHEMA }],
    applicationId: APPLICATION_ID,
    rules: INDEX_TABLES,
    // A batch that a power failure loses is parsed again.
    durable: false,
  });
  // A checkpoint waits for the disk: one for 32 MiB of the log instead of one for 4 MiB.
  database.prepare('PRAGMA wal_autocheckpoint = 8192').get();
  return database;
}
