import { DatabaseDamagedError, ForeignDatabaseError } from '../../../engine/database/database-error.ts';
import { keepAside } from '../../../engine/database/keep-aside.ts';
import { openSqliteDatabase, type Database } from '../../../engine/database/sqlite-database.ts';
import { messageOf } from '../../../platform/errors.ts';
import { INDEX_SCHEMA, INDEX_SCHEMA_VERSION } from './index-schema.ts';
import { CARRY_TIERS, PARSE_STATUSES } from '../../../contract/schemas/vocabulary.ts';
import {
  bytes,
  COMPARED_TEXT,
  COUNT,
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
} from '../../../engine/database/column-rules.ts';
import { SOURCE_DIGEST_BYTES, UNIT_ID_BYTES } from '../container/parsed-container.ts';
import { TEXT_BYTES } from './carry/unit-columns.ts';
import { rmSync } from '../../../platform/files/file-changes.ts';

const UNIT_ID = bytes(UNIT_ID_BYTES);
const DIGEST_BYTES = bytes(32);
const SIDE = oneOf(['new', 'old']);
const CONTEXT = bytes(3 * TEXT_BYTES);
const LOCATION = {
  archive_entry: nullable(FREE_TEXT),
  path_id: nullable(FREE_INTEGER),
  class_id: nullable(FREE_INTEGER),
  format: NAME,
};

export const INDEX_RULES: TableRules = {
  content: {
    content_id: POSITIVE,
    state: oneOf(['building', 'complete', 'dropped']),
    blake3: DIGEST_BYTES,
    // A destination, or the glob of people that names it.
    destination_key: COMPARED_TEXT,
    parser_version: COMPARED_TEXT,
    rules_digest: DIGEST_BYTES,
    is_reusable: FLAG,
    parse_status: nullable(oneOf(PARSE_STATUSES)),
    format: nullable(NAME),
    units: COUNT,
    errors: COUNT,
    warnings: COUNT,
    skipped: JSON_OBJECT,
    seconds: DURATION,
    bytes: COUNT,
  },
  leaf: { content_id: POSITIVE, first_ordinal: COUNT, units: COUNT, ...LOCATION },
  unit: {
    content_id: POSITIVE,
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
    content_id: POSITIVE,
    number: COUNT,
    ...LOCATION,
    field_path: nullable(FREE_TEXT),
    code: NAME,
    message: FREE_TEXT,
    severity: oneOf(['error', 'warning']),
    first_seen: SECONDS,
  },
  release_index: {
    index_id: POSITIVE,
    release_id: RELEASE_ID,
    state: oneOf(['indexing', 'complete', 'dropped']),
    parser_version: COMPARED_TEXT,
    rules_digest: DIGEST_BYTES,
    previous_index_id: nullable(POSITIVE),
    generation: COUNT,
    indexed_at: nullable(SECONDS),
    totals: nullable(JSON_OBJECT),
  },
  container: {
    index_id: POSITIVE,
    position: COUNT,
    destination: PATH,
    // A destination, or the glob of people that names it.
    destination_key: COMPARED_TEXT,
    blake3: DIGEST_BYTES,
    rules_digest: DIGEST_BYTES,
    content_id: nullable(POSITIVE),
    units_before: COUNT,
    is_unchanged: FLAG,
    ambiguity: nullable(FREE_TEXT),
    ambiguous_since: nullable(SECONDS),
  },
  pair: {
    index_id: POSITIVE,
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
  wanderer: { side: SIDE, context: CONTEXT, position: COUNT, ordinal: COUNT },
};

interface IndexDatabase {
  readonly database: Database;
  /** The problem of the old file; `null` when the file was sound or missing. */
  readonly rebuilt: string | null;
}

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
export function openIndexDatabase(path: string, now: Date): IndexDatabase {
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
    rules: INDEX_RULES,
    // A batch that a power failure loses is parsed again.
    durable: false,
  });
  // A checkpoint waits for the disk: one for 32 MiB of the log instead of one for 4 MiB.
  database.prepare('PRAGMA wal_autocheckpoint = 8192').get();
  return database;
}
