import { openOtherDatabase, type ReadableDatabase } from '../../other-database.ts';
import { cachedStatements } from '../../../engine/database/cached-statements.ts';
import type { Statement } from '../../../engine/database/checked-rows.ts';
import { openSqliteDatabase, type Database } from '../../../engine/database/sqlite-database.ts';
import { AUTHOR_KINDS, MEMORY_STATES } from '../../../contract/schemas/vocabulary.ts';
import {
  bytes,
  COMPARED_TEXT,
  COUNT,
  createTablesOf,
  FLAG,
  FREE_TEXT,
  HASHED_NUMBER,
  integer,
  JSON_OBJECT,
  NAME,
  nullable,
  oneOf,
  POSITIVE,
  SECONDS,
  type TableRules,
  withSql,
} from '../../../engine/database/column-rules.ts';
import type { Migration } from '../../../engine/database/migrate.ts';

/** "SLTM": the file of a Translation Memory. */
const MEMORY_APPLICATION_ID = 0x53_4c_54_4d;

const STATE = oneOf(MEMORY_STATES);
const IDENTITY = bytes(32);
/** What is added may be negative, and SQLite would check that alone: only the sum is a count. */
const ADDED_TO = integer(0);

/** The rules of a Translation Memory. The tables that SQLite keeps for its text indexes have none. */
export const MEMORY_TABLES = {
  pair: {
    pair_id: withSql(POSITIVE, 'PRIMARY KEY'),
    source_language: NAME,
    target_language: NAME,
  },
  record: {
    id: withSql(POSITIVE, 'PRIMARY KEY'),
    record_id: withSql(NAME, 'UNIQUE'),
    pair_id: withSql(POSITIVE, 'REFERENCES pair'),
    state: STATE,
    is_default: withSql(FLAG, "DEFAULT 0 CHECK (is_default = 0 OR state = 'trusted')"),
    length: COUNT,
    source_key: HASHED_NUMBER,
    width_key: HASHED_NUMBER,
    numbers_key: nullable(HASHED_NUMBER),
    target_key: HASHED_NUMBER,
    identity: IDENTITY,
    context_key: COMPARED_TEXT,
    source_text: FREE_TEXT,
    target_text: FREE_TEXT,
    source_prefix: FREE_TEXT,
    target_prefix: FREE_TEXT,
    context: JSON_OBJECT,
    origin: FREE_TEXT,
    provider: nullable(FREE_TEXT),
    provider_run_id: nullable(FREE_TEXT),
    task_id: nullable(FREE_TEXT),
    unit_id: nullable(FREE_TEXT),
    release_id: nullable(FREE_TEXT),
    reviewer: nullable(FREE_TEXT),
    reason: nullable(FREE_TEXT),
    author_kind: nullable(oneOf(AUTHOR_KINDS)),
    author_token_id: nullable(FREE_TEXT),
    supersedes: nullable(NAME),
    superseded_by: nullable(NAME),
    created_at: SECONDS,
    confirmed_at: nullable(SECONDS),
    use_count: withSql(COUNT, 'DEFAULT 0'),
    last_used_at: nullable(SECONDS),
  },
  record_history: {
    number: withSql(POSITIVE, 'PRIMARY KEY'),
    id: withSql(POSITIVE, 'REFERENCES record'),
    at: SECONDS,
    action: NAME,
    from_state: STATE,
    to_state: STATE,
    reviewer: nullable(FREE_TEXT),
    reason: nullable(FREE_TEXT),
    token_id: nullable(FREE_TEXT),
    other_record_id: nullable(NAME),
  },
  conflict: {
    identity: withSql(IDENTITY, 'PRIMARY KEY'),
  },
  tally: {
    pair_id: withSql(POSITIVE, 'REFERENCES pair'),
    state: STATE,
    records: ADDED_TO,
  },
  trigram: {
    trigram: withSql(FREE_TEXT, 'PRIMARY KEY'),
    records: ADDED_TO,
  },
  indexed_texts: {
    last_id: COUNT,
  },
} satisfies TableRules;

const table = createTablesOf(MEMORY_TABLES);

/**
 * The tables of a Translation Memory.
 *
 * `record` holds texts, provenance and state. Its keys are the first 48 bits of a digest: `source_key` of the languages and the
 * source, `width_key` of the same without differences of width, `numbers_key` with numbers masked, `target_key` of the target; the
 * text is compared after a lookup. `length` counts code points with placeholders as one. `source_search` and `target_search`
 * index the trigrams of the folded texts, and `trigram` counts the records of each trigram of a source. `conflict` lists the
 * identities with several trusted targets, and `tally` counts records. `record_history` is append-only. `author_kind`,
 * `author_token_id` and `token_id` say who wrote a record and who changed it.
 *
 * `indexed_texts` has the last record that the text indexes know: new records are indexed together, some seconds later. An index
 * of a random key costs one page for each new record, so candidates are in as few as possible: a record is found by its source,
 * state and context, only trusted ones by their identity, and by `width_key` only where it differs from `source_key`.
 */
const TABLES = `
${table('pair', 'UNIQUE (source_language, target_language)')}

${table('record')}
CREATE INDEX record_identity ON record (identity) WHERE state = 'trusted';
CREATE INDEX record_source ON record (source_key, state, context_key);
CREATE INDEX record_default ON record (source_key) WHERE is_default = 1;
CREATE INDEX record_width ON record (width_key) WHERE width_key <> source_key;
CREATE INDEX record_numbers ON record (numbers_key) WHERE numbers_key IS NOT NULL;
CREATE INDEX record_source_prefix ON record (source_prefix);
CREATE INDEX record_target_prefix ON record (target_prefix);

${table('record_history')}
CREATE INDEX record_history_record ON record_history (id);
CREATE TRIGGER record_history_is_not_changed BEFORE UPDATE ON record_history
  BEGIN SELECT RAISE(ABORT, 'the history of records is append-only'); END;
CREATE TRIGGER record_history_is_not_deleted BEFORE DELETE ON record_history
  BEGIN SELECT RAISE(ABORT, 'the history of records is append-only'); END;

${table('conflict')}

${table('tally', 'PRIMARY KEY (pair_id, state)')}

${table('trigram')}
CREATE VIRTUAL TABLE source_search USING fts5
  (text, content='', detail='none', columnsize=0, tokenize='trigram case_sensitive 1');
CREATE VIRTUAL TABLE target_search USING fts5
  (text, content='', detail='none', columnsize=0, tokenize='trigram case_sensitive 1');

${table('indexed_texts')}
INSERT INTO indexed_texts VALUES (0);
`;

/** The schema. Versions up to 4 were never released. */
const MEMORY_MIGRATIONS: readonly Migration[] = [{ version: 5, name: 'memory', sql: TABLES }];

/** Memory for pages of one file, in KiB. */
const CACHE_KIBIBYTES = 32_768;
/** A checkpoint waits for the disk: one for 32 MiB of the log instead of one for 4 MiB. */
const CHECKPOINT_PAGES = 8192;

/**
 * Opens the daemon's own Translation Memory. A missing file is created; a damaged one, or one of another program or a newer
 * schema, is never changed.
 *
 * @throws DatabaseError
 */
export function openMainMemory(path: string): Database {
  const database = openSqliteDatabase({
    path,
    migrations: MEMORY_MIGRATIONS,
    applicationId: MEMORY_APPLICATION_ID,
    rules: MEMORY_TABLES,
  });
  database.prepare(`PRAGMA cache_size = -${CACHE_KIBIBYTES}`).run();
  database.prepare(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`).get();
  return database;
}

/** Opens another Translation Memory to read it. @throws DatabaseError */
export function openOtherMemory(path: string): ReadableDatabase {
  return openOtherDatabase(path, {
    name: 'Translation Memory',
    applicationId: MEMORY_APPLICATION_ID,
    migrations: MEMORY_MIGRATIONS,
    rules: MEMORY_TABLES,
  });
}

/** An open Translation Memory with its compiled statements. */
export interface OpenMemory<D extends ReadableDatabase = ReadableDatabase> {
  readonly database: D;
  readonly sql: (text: string) => Statement;
  close(): void;
}

/** The open main file, the only one that is written. */
export type MainMemory = OpenMemory<Database>;

/** The Translation Memory in an open database. */
export function memoryIn<D extends ReadableDatabase>(database: D): OpenMemory<D> {
  return { database, sql: cachedStatements(database), close: () => database.close() };
}
