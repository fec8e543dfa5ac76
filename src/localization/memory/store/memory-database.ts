import { openOtherDatabase, type ReadableDatabase } from '../../other-database.ts';
import { cachedStatements } from '../../../engine/database/cached-statements.ts';
import type { Statement } from '../../../engine/database/checked-rows.ts';
import { openSqliteDatabase, type Database } from '../../../engine/database/sqlite-database.ts';
import { AUTHOR_KINDS, MEMORY_STATES } from '../../../contract/schemas/vocabulary.ts';
import {
  bytes,
  COMPARED_TEXT,
  COUNT,
  FLAG,
  FREE_TEXT,
  HASHED_NUMBER,
  JSON_OBJECT,
  NAME,
  nullable,
  oneOf,
  POSITIVE,
  SECONDS,
  type TableRules,
} from '../../../engine/database/column-rules.ts';
import type { Migration } from '../../../engine/database/migrate.ts';

/** "SLTM": the file of a Translation Memory. */
const MEMORY_APPLICATION_ID = 0x53_4c_54_4d;

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
CREATE TABLE pair (
  pair_id INTEGER PRIMARY KEY,
  source_language TEXT NOT NULL,
  target_language TEXT NOT NULL,
  UNIQUE (source_language, target_language)
) STRICT;

CREATE TABLE record (
  id INTEGER PRIMARY KEY,
  record_id TEXT NOT NULL UNIQUE,
  pair_id INTEGER NOT NULL REFERENCES pair,
  state TEXT NOT NULL CHECK (state IN ('candidate', 'trusted', 'superseded', 'rejected')),
  is_default INTEGER NOT NULL DEFAULT 0 CHECK (is_default = 0 OR state = 'trusted'),
  length INTEGER NOT NULL,
  source_key INTEGER NOT NULL,
  width_key INTEGER NOT NULL,
  numbers_key INTEGER,
  target_key INTEGER NOT NULL,
  identity BLOB NOT NULL,
  context_key TEXT NOT NULL,
  source_text TEXT NOT NULL,
  target_text TEXT NOT NULL,
  source_prefix TEXT NOT NULL,
  target_prefix TEXT NOT NULL,
  context TEXT NOT NULL,
  origin TEXT NOT NULL,
  provider TEXT,
  provider_run_id TEXT,
  task_id TEXT,
  unit_id TEXT,
  release_id TEXT,
  reviewer TEXT,
  reason TEXT,
  author_kind TEXT,
  author_token_id TEXT,
  supersedes TEXT,
  superseded_by TEXT,
  created_at INTEGER NOT NULL,
  confirmed_at INTEGER,
  use_count INTEGER NOT NULL DEFAULT 0,
  last_used_at INTEGER
) STRICT;
CREATE INDEX record_identity ON record (identity) WHERE state = 'trusted';
CREATE INDEX record_source ON record (source_key, state, context_key);
CREATE INDEX record_default ON record (source_key) WHERE is_default = 1;
CREATE INDEX record_width ON record (width_key) WHERE width_key <> source_key;
CREATE INDEX record_numbers ON record (numbers_key) WHERE numbers_key IS NOT NULL;
CREATE INDEX record_source_prefix ON record (source_prefix);
CREATE INDEX record_target_prefix ON record (target_prefix);

CREATE TABLE record_history (
  number INTEGER PRIMARY KEY,
  id INTEGER NOT NULL REFERENCES record,
  at INTEGER NOT NULL,
  action TEXT NOT NULL,
  from_state TEXT NOT NULL,
  to_state TEXT NOT NULL,
  reviewer TEXT,
  reason TEXT,
  token_id TEXT,
  other_record_id TEXT
) STRICT;
CREATE INDEX record_history_record ON record_history (id);
CREATE TRIGGER record_history_is_not_changed BEFORE UPDATE ON record_history
  BEGIN SELECT RAISE(ABORT, 'the history of records is append-only'); END;
CREATE TRIGGER record_history_is_not_deleted BEFORE DELETE ON record_history
  BEGIN SELECT RAISE(ABORT, 'the history of records is append-only'); END;

CREATE TABLE conflict (identity BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;

CREATE TABLE tally (
  pair_id INTEGER NOT NULL REFERENCES pair,
  state TEXT NOT NULL,
  records INTEGER NOT NULL,
  PRIMARY KEY (pair_id, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE trigram (trigram TEXT PRIMARY KEY, records INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE source_search USING fts5
  (text, content='', detail='none', columnsize=0, tokenize='trigram case_sensitive 1');
CREATE VIRTUAL TABLE target_search USING fts5
  (text, content='', detail='none', columnsize=0, tokenize='trigram case_sensitive 1');

CREATE TABLE indexed_texts (last_id INTEGER NOT NULL) STRICT;
INSERT INTO indexed_texts VALUES (0);
`;

/** The schema. Versions up to 4 were never released. */
const MEMORY_MIGRATIONS: readonly Migration[] = [{ version: 5, name: 'memory', sql: TABLES }];

const STATE = oneOf(MEMORY_STATES);
const IDENTITY = bytes(32);

/** The rules of a Translation Memory. The tables that SQLite keeps for its text indexes have none. */
export const MEMORY_RULES: TableRules = {
  pair: { pair_id: POSITIVE, source_language: NAME, target_language: NAME },
  record: {
    id: POSITIVE,
    record_id: NAME,
    pair_id: POSITIVE,
    state: STATE,
    is_default: FLAG,
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
    supersedes: nullable(NAME),
    superseded_by: nullable(NAME),
    created_at: SECONDS,
    confirmed_at: nullable(SECONDS),
    use_count: COUNT,
    last_used_at: nullable(SECONDS),
    author_kind: nullable(oneOf(AUTHOR_KINDS)),
    author_token_id: nullable(FREE_TEXT),
  },
  record_history: {
    number: POSITIVE,
    id: POSITIVE,
    at: SECONDS,
    action: NAME,
    from_state: STATE,
    to_state: STATE,
    reviewer: nullable(FREE_TEXT),
    reason: nullable(FREE_TEXT),
    other_record_id: nullable(NAME),
    token_id: nullable(FREE_TEXT),
  },
  conflict: { identity: IDENTITY },
  tally: { pair_id: POSITIVE, state: STATE, records: COUNT },
  trigram: { trigram: FREE_TEXT, records: COUNT },
  indexed_texts: { last_id: COUNT },
};

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
    rules: MEMORY_RULES,
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
    rules: MEMORY_RULES,
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
