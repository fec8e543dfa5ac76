import { open as openFile, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openIndexDatabase } from '../../../../../src/daemon/parse/index/index-database.ts';
import { INDEX_SCHEMA_VERSION } from '../../../../../src/daemon/parse/index/index-schema.ts';
import { createContentWriter } from '../../../../../src/daemon/parse/index/content-writer.ts';
import { beginRelease } from '../../../../../src/daemon/parse/index/release-run.ts';
import { storageFailureOf } from '../../../../../src/daemon/database/storage-failure.ts';
import { systemClock } from '../../../../../src/platform/process/clock.ts';
import type { ParseIndex } from '../../../../../src/daemon/parse/index/parse-index.ts';
import {
  allUnits,
  indexRelease,
  openTestIndex,
  PARSED,
  releaseOf,
  unitsOf,
  type ModelFile,
} from '../../../../support/index-release.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const FILE: ModelFile = { destination: 'a', leaves: [{ units: [['0', 'x']] }] };

function open(path: string): ParseIndex {
  const index = openTestIndex(path);
  onTestFinished(() => {
    index.close();
  });
  return index;
}

async function indexFile(): Promise<string> {
  return join(await temporaryDirectory(), 'index.db');
}

describe('the file of the parse index', () => {
  it('keeps its content', async () => {
    const path = await indexFile();
    const first = open(path);
    indexRelease(first, 'r1', [FILE]);
    first.close();
    const again = open(path);
    expect(again.rebuilt).toBeNull();
    expect(allUnits(again)).toHaveLength(1);
  });

  it.each([
    [
      'is not a database',
      async (path: string) => {
        await writeFile(path, 'x'.repeat(8192));
      },
    ],
    [
      'is damaged',
      async (path: string) => {
        const index = open(path);
        indexRelease(index, 'r1', [FILE]);
        index.close();
        const handle = await openFile(path, 'r+');
        await handle.write(Buffer.alloc(3 * 4096, 0xff), 0, 3 * 4096, 4096);
        await handle.close();
      },
    ],
    [
      'is of another program',
      (path: string) => {
        const other = new DatabaseSync(path);
        other.exec('CREATE TABLE note (text); PRAGMA application_id = 7');
        other.close();
      },
    ],
    [
      'has another schema',
      (path: string) => {
        open(path).close();
        const other = new DatabaseSync(path);
        other.exec(`PRAGMA application_id = ${0x53_4c_49_00 + INDEX_SCHEMA_VERSION + 1}`);
        other.close();
      },
    ],
    [
      'has a newer schema',
      (path: string) => {
        open(path).close();
        const other = new DatabaseSync(path);
        other.exec('PRAGMA user_version = 2');
        other.close();
      },
    ],
  ])('is replaced by an empty one when it %s', async (_, spoil) => {
    const path = await indexFile();
    await Promise.resolve(spoil(path));
    const index = open(path);
    expect(index.rebuilt).toContain(path);
    expect(index.status().release_id).toBeNull();
    expect(indexRelease(index, 'r1', [FILE])).toMatchObject({ parsed: 1 });
    expect(allUnits(index)).toHaveLength(1);
    expect((await readdir(dirname(path))).filter((name) => !name.startsWith('index.db'))).toEqual([]);
  });

  it('is not replaced when it cannot be opened', () => {
    expect(() => openTestIndex('/nonexistent/folder/index.db')).toThrow(/cannot be opened/);
  });

  it('passes the error of a full disk on and loses nothing that it reported', async () => {
    const { database } = openIndexDatabase(await indexFile(), new Date(0));
    onTestFinished(() => {
      database.close();
    });
    const writer = createContentWriter(database, systemClock);
    const { indexId } = beginRelease(database, releaseOf('r1', [FILE]));
    const contentId = writer.start(indexId, 0);
    const large: ModelFile = {
      destination: 'a',
      leaves: [{ units: Array.from({ length: 500 }, (_, i) => [`${i}`, 'x'.repeat(2000)]) }],
    };
    const pages = Number(Object.values(database.prepare('PRAGMA page_count').get() ?? {})[0]);
    database.prepare(`PRAGMA max_page_count = ${pages + 20}`).get();
    const failure = ((): unknown => {
      try {
        writer.append(contentId, unitsOf(large));
        return null;
      } catch (error) {
        return error;
      }
    })();
    expect(storageFailureOf(failure)?.code).toBe('data_full');
    expect(database.prepare('SELECT count(*) AS n FROM unit').get()).toEqual({ n: 0 });
    database.prepare('PRAGMA max_page_count = 100000').get();
    // The same batch again: ordinals begin where the last stored batch ended.
    writer.append(contentId, unitsOf(large));
    writer.finish(contentId, PARSED);
    expect(database.prepare('SELECT count(*) AS n, min(ordinal) AS first FROM unit').get()).toEqual({
      n: 500,
      first: 0,
    });
  });
});
