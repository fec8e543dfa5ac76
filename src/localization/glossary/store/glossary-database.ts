import { openOtherDatabase, type ReadableDatabase } from '../../other-database.ts';
import { cachedStatements } from '../../../engine/database/cached-statements.ts';
import type { Statement } from '../../../engine/database/checked-rows.ts';
import { openSqliteDatabase, type Database } from '../../../engine/database/sqlite-database.ts';
import type { CompiledGlossary } from '../../../domain/glossary/compile-glossary.ts';
import { REVIEW_STATUSES } from '../../../domain/glossary/term.ts';
import {
  COUNT,
  createTablesOf,
  FREE_INTEGER,
  FREE_TEXT,
  integer,
  JSON_OBJECT,
  JSON_TEXTS,
  jsonWith,
  NAME,
  nullable,
  oneOf,
  POSITIVE,
  SECONDS,
  type TableRules,
  withSql,
} from '../../../engine/database/column-rules.ts';
import type { Migration } from '../../../engine/database/migrate.ts';

/** "SLGT": the file of a Glossary. */
const GLOSSARY_APPLICATION_ID = 0x53_4c_47_54;

const STATUS = oneOf(REVIEW_STATUSES);
/** The facts of a scope and their values. */
const SCOPE = jsonWith(
  'a JSON list of pairs of texts',
  (value) =>
    Array.isArray(value) &&
    value.every(
      (pair) => Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === 'string'),
    ),
);

export const GLOSSARY_TABLES = {
  glossary: {
    id: withSql(integer(1, 1), 'PRIMARY KEY CHECK (id = 1)'),
    generation: COUNT,
  },
  term: {
    term_id: withSql(FREE_TEXT, 'PRIMARY KEY'),
    revision: COUNT,
    source_term: FREE_TEXT,
    source_fold: FREE_TEXT,
    search_fold: FREE_TEXT,
    aliases: JSON_TEXTS,
    recommended_translation: FREE_TEXT,
    allowed_translations: JSON_TEXTS,
    source_language: NAME,
    target_language: NAME,
    category: FREE_TEXT,
    priority: FREE_INTEGER,
    scope: SCOPE,
    review_status: STATUS,
    source_kind: oneOf(['manual', 'imported']),
    observed_at: FREE_INTEGER,
    source_ref: nullable(FREE_TEXT),
    source_author: nullable(FREE_TEXT),
    source_note: nullable(FREE_TEXT),
    created_at: SECONDS,
    updated_at: SECONDS,
    deleted_at: nullable(SECONDS),
  },
  review: {
    id: withSql(POSITIVE, 'PRIMARY KEY'),
    term_id: withSql(FREE_TEXT, 'REFERENCES term'),
    revision: COUNT,
    action: oneOf(['add', 'update', 'reject', 'reopen', 'approve', 'deprecate', 'delete']),
    from_status: nullable(STATUS),
    to_status: nullable(STATUS),
    reviewer: nullable(FREE_TEXT),
    token_id: nullable(FREE_TEXT),
    reason: nullable(FREE_TEXT),
    at: SECONDS,
    term: JSON_OBJECT,
  },
} satisfies TableRules;

const table = createTablesOf(GLOSSARY_TABLES);

/**
 * The tables of a Glossary.
 *
 * `term` holds the terms; a deleted one stays with its time. `source_fold` and `scope` (canonical) identify a live term
 * within its languages and category; `search_fold` is the folded source term and aliases, one a line. `review` is the
 * history, which only grows; `term` in it is the term after the change, as JSON. `glossary` has one row; its generation
 * grows with every change.
 */
const TABLES = `
${table('glossary')}
INSERT INTO glossary (id, generation) VALUES (1, 0);

${table('term')}
CREATE UNIQUE INDEX live_term ON term (source_fold, source_language, target_language, scope, category)
  WHERE deleted_at IS NULL;

${table('review')}
CREATE INDEX review_term ON review (term_id, id);

CREATE TRIGGER review_is_not_changed BEFORE UPDATE ON review BEGIN
  SELECT RAISE(ABORT, 'the review history is append-only');
END;
CREATE TRIGGER review_is_not_deleted BEFORE DELETE ON review BEGIN
  SELECT RAISE(ABORT, 'the review history is append-only');
END;
`;

const GLOSSARY_MIGRATIONS: readonly Migration[] = [{ version: 1, name: 'glossary', sql: TABLES }];

/**
 * Opens the daemon's own Glossary; a missing file is created. A damaged file, or one of another program or a newer schema,
 * is never changed.
 *
 * @throws DatabaseError
 */
export function openMainGlossary(path: string): Database {
  return openSqliteDatabase({
    path,
    migrations: GLOSSARY_MIGRATIONS,
    applicationId: GLOSSARY_APPLICATION_ID,
    rules: GLOSSARY_TABLES,
  });
}

/** Opens another Glossary to read it. @throws DatabaseError */
export function openOtherGlossary(path: string): ReadableDatabase {
  return openOtherDatabase(path, {
    name: 'Glossary',
    applicationId: GLOSSARY_APPLICATION_ID,
    migrations: GLOSSARY_MIGRATIONS,
    rules: GLOSSARY_TABLES,
  });
}

/** An open Glossary with its compiled statements and terms. */
export interface OpenGlossary<D extends ReadableDatabase = ReadableDatabase> {
  readonly database: D;
  readonly sql: (text: string) => Statement;
  /** The compiled terms of some pairs of languages, as of one generation of the file. */
  readonly compiled: { generation: number; readonly pairs: Map<string, CompiledGlossary> };
  close(): void;
}

/** The open main file, the only one that is written. */
export type MainGlossary = OpenGlossary<Database>;

/** The Glossary in an open database. */
export function glossaryIn<D extends ReadableDatabase>(database: D): OpenGlossary<D> {
  return {
    database,
    sql: cachedStatements(database),
    compiled: { generation: -1, pairs: new Map() },
    close: () => database.close(),
  };
}
