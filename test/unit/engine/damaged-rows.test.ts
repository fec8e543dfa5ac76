import { partial } from '../../support/partial.ts';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { PredicateSchema } from '../../../src/contract/formats/attestation-format.ts';
import { isMediaType } from '../../../src/contract/formats/manifest-format.ts';
import { parseStoreFormat, renderStoreFormat } from '../../../src/contract/formats/store-format.ts';
import type { TableRules } from '../../../src/engine/database/column-rules.ts';
import { DamagedRowError } from '../../../src/engine/database/database-error.ts';
import { openDatabase } from '../../../src/engine/database/database.ts';
import { openMainDatabase, type MainDatabase } from '../../../src/engine/database/main-database.ts';
import { MAIN_TABLES } from '../../../src/engine/database/main-tables.ts';
import type { Database } from '../../../src/engine/database/sqlite-database.ts';
import { isDatabaseDamage } from '../../../src/engine/database/storage-failure.ts';
import {
  openMainGlossary,
  GLOSSARY_TABLES,
} from '../../../src/localization/glossary/store/glossary-database.ts';
import { givenTermId } from '../../../src/localization/glossary/term-fields.ts';
import { openMainMemory, MEMORY_TABLES } from '../../../src/localization/memory/store/memory-database.ts';
import { openIndexDatabase, INDEX_TABLES } from '../../../src/localization/parse/index/index-database.ts';
import { TRANSLATION_TABLES } from '../../../src/localization/translation/work/store/translation-tables.ts';
import { openWorkDatabase } from '../../../src/localization/translation/work/store/work-database.ts';
import { parseEntryDestination, parseEntrySize } from '../../../src/upstream/entry-rules.ts';
import { parseReleaseId } from '../../../src/domain/release/release-id.ts';
import { isLanguageTag } from '../../../src/domain/text/language-tag.ts';
import { globProblem } from '../../../src/platform/config/glob-filter.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import {
  allowedWords,
  damageCases,
  declaredTables,
  openColumns,
  readDamaged,
  ruledTables,
} from '../../support/damaged-values.ts';
import { OPEN_COLUMNS } from '../../support/open-columns.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const DIGEST = '0123456789abcdef'.repeat(4);
const ATTESTED = `INSERT INTO attestation_state (store_id, version, reserved_version, payload_sha256)
  VALUES ('store', 7, 9, '${DIGEST}')`;
const RELEASE = `INSERT INTO release (channel, release_id, upstream_release_id, state, created_at)
  VALUES ('official', '1', '1', 'verified', 5)`;
const CATALOG = `INSERT INTO catalog_revision (revision_id, channel, upstream_label, upstream_release_id, task_id, fetched_at)
  VALUES (1, 'official', 'up', '1', 't', 5);
  INSERT INTO catalog_entry (revision_id, destination, source, locator, blake3) VALUES (1, 'a', 'official', 'a', '${DIGEST}')`;
const TASK = `INSERT INTO task (task_id, kind, lane, status, args_json, dedupe_key, max_attempts, run_at_ms, created_at)
  VALUES ('t1', 'sync', 'release', 'succeeded', '{}', 'k', 1, 5000, 5), ('t2', 'sync', 'release', 'queued', '{}', 'k', 1, 5000, 5);
  INSERT INTO task_log (task_id, seq, ts, level, message, fields_json) VALUES ('t1', 1, 5, 'info', 'm', NULL), ('t1', 2, 5, 'info', 'm', NULL)`;

async function file(): Promise<string> {
  return join(await temporaryDirectory(), 'main.db');
}

async function open(path: string) {
  const [error, restart] = [vi.fn(), vi.fn()];
  const opened: MainDatabase = await openMainDatabase(path, {
    clock: systemClock,
    logger: partial({ info: vi.fn(), warn: vi.fn(), error }),
    signal: new AbortController().signal,
    restart,
  });
  onTestFinished(() => opened.database.close());
  return { ...opened, error, restart };
}

/** Writes without the daemon. */
function write(path: string, sql: string, ...values: readonly SQLInputValue[]): void {
  const raw = new DatabaseSync(path);
  if (values.length > 0) raw.prepare(sql).run(...values);
  else raw.exec(sql);
  raw.close();
}

async function asides(path: string): Promise<readonly string[]> {
  return (await readdir(dirname(path))).filter((name) => name.startsWith(`${basename(path)}.damaged-`));
}

describe('damaged rows of the main database', () => {
  it('forgets a damaged attestation and keeps that the store is its own', async () => {
    const path = await file();
    (await open(path)).database.close();
    write(path, ATTESTED);
    write(path, `UPDATE attestation_state SET payload_sha256 = 'X' || substr(payload_sha256, 2)`);
    const { database, rebuilt, error } = await open(path);
    expect(rebuilt).toBeNull();
    expect(database.prepare('SELECT * FROM attestation_state').all()).toEqual([
      {
        store_id: 'store',
        version: 0,
        reserved_version: 0,
        payload_sha256: null,
        envelope: null,
        issued_at: null,
        expires_at: null,
      },
    ]);
    expect(error).toHaveBeenCalledWith(
      { table: 'attestation_state', column: 'payload_sha256', row: 'store_id store' },
      expect.stringContaining(`payload_sha256 of table attestation_state has "X${DIGEST.slice(1)}"`),
    );
  });

  it('forgets all stores when the id of one is damaged, because the others alone would refuse it', async () => {
    const path = await file();
    (await open(path)).database.close();
    write(path, ATTESTED);
    write(path, ATTESTED.replace("'store'", "'st re'"));
    const { database, rebuilt } = await open(path);
    expect(rebuilt).toBeNull();
    expect(database.prepare('SELECT * FROM attestation_state').all()).toEqual([]);
  });

  it('removes the row of a key that is not UTF-8 any longer, and only that', async () => {
    const path = await file();
    (await open(path)).database.close();
    const container = (key: string): string =>
      `INSERT INTO patched_container (patch_key, blake3, size, patched_at) VALUES (${key}, '${DIGEST}', 5, 5)`;
    write(path, container(`'${DIGEST}'`));
    const damagedKey = (byte: string): string =>
      container(`CAST(x'${byte}' || '${DIGEST.slice(1)}' AS TEXT)`);
    write(path, damagedKey('b0'));
    write(path, damagedKey('b1'));
    const { database, rebuilt } = await open(path);
    expect(rebuilt).toBeNull();
    expect(database.prepare('SELECT patch_key FROM patched_container').all()).toEqual([
      { patch_key: DIGEST },
    ]);
  });

  it('refuses a statement whose result has two columns of one name', async () => {
    const { database } = await open(await file());
    const sql = 'SELECT task.task_id, task_log.task_id FROM task JOIN task_log USING (task_id)';
    expect(() => database.prepare(sql)).toThrow('two columns of a result are called task_id');
  });

  it('is replaced at its start when a release has a damaged value, and says which', async () => {
    const path = await file();
    (await open(path)).database.close();
    write(path, RELEASE);
    write(path, `UPDATE release SET snapshot_id = 'nonsense'`);
    const { database, rebuilt } = await open(path);
    expect(rebuilt?.finding).toContain('column snapshot_id of table release has "nonsense"');
    expect(rebuilt?.finding).toContain('row: channel "official", release_id "1"');
    expect(database.prepare('SELECT * FROM release').all()).toEqual([]);
    expect(await asides(path)).toHaveLength(1);
  });

  it('asks for one start when it reads a damaged value that it needs, and is replaced by that start', async () => {
    const path = await file();
    (await open(path)).database.close();
    write(path, CATALOG);
    write(path, `UPDATE catalog_entry SET blake3 = 'nonsense'`);
    const { database, rebuilt, restart, error } = await open(path);
    expect(rebuilt).toBeNull();
    const entries = database.prepare('SELECT destination, blake3 AS object FROM catalog_entry');
    const read = (): unknown => entries.all();
    expect(read).toThrow(DamagedRowError);
    expect(read).toThrow('column blake3 of table catalog_entry has "nonsense"');
    expect(restart).toHaveBeenCalledTimes(1);
    expect(error).toHaveBeenCalledTimes(1);
    database.close();
    const next = await open(path);
    expect(next.rebuilt?.finding).toContain('column blake3 of table catalog_entry has "nonsense"');
    expect(next.database.prepare('SELECT * FROM catalog_entry').all()).toEqual([]);
    next.database.close();
    expect((await open(path)).rebuilt).toBeNull();
    expect((await asides(path)).filter((name) => name.endsWith('Z'))).toHaveLength(1);
  });

  it('asks for no second start when the new database is damaged as well', async () => {
    const path = await file();
    (await open(path)).database.close();
    write(path, RELEASE);
    write(path, `UPDATE release SET snapshot_id = 'nonsense'`);
    const { database, rebuilt, restart, error } = await open(path);
    expect(rebuilt).not.toBeNull();
    write(path, RELEASE);
    write(path, `UPDATE release SET snapshot_id = 'nonsense'`);
    expect(() => database.prepare('SELECT * FROM release').all()).toThrow(DamagedRowError);
    expect(error).toHaveBeenCalledTimes(1);
    expect(restart).not.toHaveBeenCalled();
  });

  it('deletes a damaged line of a task log and a damaged task, and keeps the others', async () => {
    const path = await file();
    const { database, restart, error } = await open(path);
    database.transaction(() => {
      for (const sql of TASK.split(';')) database.prepare(sql).run();
    });
    write(path, `UPDATE task_log SET fields_json = '{' WHERE seq = 2`);
    write(path, `UPDATE task SET args_json = 'nonsense' WHERE task_id = 't2'`);
    const lines = database.prepare('SELECT * FROM task_log');
    const tasks = database.prepare('SELECT * FROM task');
    expect(() => lines.all()).toThrow(DamagedRowError);
    expect(() => tasks.all()).toThrow(DamagedRowError);
    await nextTurn();
    expect(lines.all().map(({ seq }) => seq)).toEqual([1]);
    expect(tasks.all().map((row) => row['task_id'])).toEqual(['t1']);
    expect(restart).not.toHaveBeenCalled();
    expect(error.mock.calls.map(([, message]) => String(message).split(':')[0])).toEqual([
      'a value in the database is damaged',
      'a value in the database is damaged',
      'a damaged row of the database is removed',
      'a damaged row of the database is removed',
    ]);
  });

  it.each([
    ['one that JavaScript cannot hold', 'SELECT * FROM release'],
    ['one that is too large to be added', 'SELECT sum(total_bytes) AS bytes FROM release'],
  ])('names the column of a number that stops the statement: %s', async (_what, sql) => {
    const { database, restart } = await open(await file());
    database.prepare(RELEASE).run();
    database.prepare(RELEASE.replace("'1', '1'", "'2', '2'")).run();
    database.prepare('UPDATE release SET total_bytes = 9223372036854775807').run();
    let found: unknown = null;
    try {
      database.prepare(sql).get();
    } catch (error) {
      found = error;
    }
    expect(String(found)).toContain('column total_bytes of table release has 9223372036854775807');
    expect(isDatabaseDamage(found)).toBe(true);
    expect(restart).toHaveBeenCalled();
  });
});

interface CheckedDatabase {
  readonly name: string;
  readonly rules: TableRules;
  readonly open: (path: string) => Database;
}

const DATABASES: readonly CheckedDatabase[] = [
  { name: 'main.db', rules: MAIN_TABLES, open: openDatabase },
  {
    name: 'the parse index',
    rules: INDEX_TABLES,
    open: (path) => openIndexDatabase(path, new Date(0)).database,
  },
  { name: 'translation.db', rules: TRANSLATION_TABLES, open: openWorkDatabase },
  { name: 'memory.db', rules: MEMORY_TABLES, open: openMainMemory },
  { name: 'glossary.db', rules: GLOSSARY_TABLES, open: openMainGlossary },
];

describe('damaged values', () => {
  describe.each(DATABASES)('the values of $name', ({ name, rules, open }) => {
    async function emptyFile(): Promise<string> {
      const path = join(await temporaryDirectory(), 'empty.db');
      open(path).close();
      return path;
    }

    it('have a rule for each column of the schema, with its type', async () => {
      const sorted = (tables: ReturnType<typeof declaredTables>): unknown =>
        [...tables]
          .flatMap(([table, columns]) => columns.map((column) => JSON.stringify([table, column])))
          .sort();
      expect(sorted(ruledTables(rules))).toEqual(sorted(declaredTables(await emptyFile())));
    });

    it('may be each word that the schema allows', async () => {
      const refused = allowedWords(await emptyFile()).flatMap(({ table, column, words }) =>
        words
          .filter((word) => rules[table]?.[column]?.accepts(word) !== true)
          .map((word) => [table, column, word]),
      );
      expect(refused).toEqual([]);
    });

    it('are refused with the name of the column when they are nonsense, of another type, or NULL', async () => {
      const path = await emptyFile();
      expect(await readDamaged({ path, copy: `${path}.copy`, open }, damageCases(rules))).toEqual([]);
    });

    it('are accepted without a check only where nonsense cannot be told from sense', () => {
      expect(openColumns(rules)).toEqual(OPEN_COLUMNS[name]);
    });
  });
});

const WIDE = '用語 1 “𠀀”\u{10ffff}';
const TERM_ID = WIDE.repeat(300);
const LANGUAGE = `en-x-${Array.from({ length: 200 }, () => 'abcdefgh').join('-')}`;
const DESTINATION = `！ ～"'*?<>|:%$/${'画'.repeat(80)}/...`;
const GLOB = String.raw`bundles/\[*\]\{a\}.bundle`;
const RELEASE_ID = `9${'.'.repeat(126)}-`;
const STORE_ID = `A${'.'.repeat(127)}`;
const MEDIA_TYPE = 'text/x; charset="[ !#]~"; a=b';
const VERSION = Number.MAX_SAFE_INTEGER;

/** Values that a writer accepts, and the columns that it writes them to. */
const CASES = [
  ['the id of a term', TERM_ID, (text) => givenTermId(text) === text, GLOSSARY_TABLES, ['term', 'term_id']],
  [
    'the id of a reviewed term',
    TERM_ID,
    (text) => givenTermId(text) === text,
    GLOSSARY_TABLES,
    ['review', 'term_id'],
  ],
  ['a language of a term', LANGUAGE, isLanguageTag, GLOSSARY_TABLES, ['term', 'source_language']],
  ['a language of the memory', LANGUAGE, isLanguageTag, MEMORY_TABLES, ['pair', 'target_language']],
  ['the language of a target', LANGUAGE, isLanguageTag, TRANSLATION_TABLES, ['target', 'target_language']],
  ['a destination upstream', DESTINATION, isDestination, MAIN_TABLES, ['catalog_entry', 'destination']],
  ['a destination in the index', DESTINATION, isDestination, INDEX_TABLES, ['container', 'destination']],
  ['the glob that names a content', GLOB, isGlob, INDEX_TABLES, ['content', 'destination_key']],
  ['the glob that names a container', GLOB, isGlob, INDEX_TABLES, ['container', 'destination_key']],
  ['a release id', RELEASE_ID, (text) => parseReleaseId(text).ok, MAIN_TABLES, ['release', 'release_id']],
  [
    'a size upstream',
    VERSION,
    (size) => parseEntrySize(size, '') === size,
    MAIN_TABLES,
    ['catalog_entry', 'stated_size'],
  ],
  ['a media type', MEDIA_TYPE, isMediaType, MAIN_TABLES, ['catalog_entry', 'media_type']],
  [
    'the id of the own store',
    STORE_ID,
    (text) => parseStoreFormat(renderStoreFormat(text)).ok,
    MAIN_TABLES,
    ['attestation_state', 'store_id'],
  ],
  [
    'the id of the origin',
    WIDE.repeat(20),
    isOf('store_id'),
    MAIN_TABLES,
    ['origin_attestation', 'store_id'],
  ],
  ['the version of the origin', VERSION, isOf('version'), MAIN_TABLES, ['origin_attestation', 'version']],
] as const satisfies readonly (readonly [
  string,
  string | number,
  (value: never) => boolean,
  TableRules,
  readonly [table: string, column: string],
])[];

function isDestination(text: string): boolean {
  return parseEntryDestination(text, 'the catalog') === text;
}

function isGlob(text: string): boolean {
  return globProblem(text) === null;
}

function isOf(field: 'store_id' | 'version'): (value: unknown) => boolean {
  return (value) => PredicateSchema.shape[field].safeParse(value).success;
}

describe('the widest values of a column', () => {
  it.each(CASES)(
    'a rule accepts what its writer accepts: %s',
    (_what, value, accepts, tables, [table, column]) => {
      const rules: TableRules = tables;
      expect((accepts as (value: unknown) => boolean)(value)).toBe(true);
      expect(rules[table]?.[column]?.accepts(value)).toBe(true);
    },
  );
});
