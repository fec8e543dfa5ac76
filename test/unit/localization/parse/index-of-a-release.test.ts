import { open as openFile, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { storageFailureOf } from '../../../../src/engine/database/storage-failure.ts';
import { createContentWriter } from '../../../../src/localization/parse/index/write/content-writer.ts';
import {
  openIndexDatabase,
  INDEX_SCHEMA_VERSION,
} from '../../../../src/localization/parse/index/index-database.ts';
import type { ParseIndex } from '../../../../src/localization/parse/index/parse-index.ts';
import { beginRelease } from '../../../../src/localization/parse/index/write/index-cleanup.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import {
  allUnits,
  finishSteps,
  indexRelease,
  openTestIndex,
  PARSED,
  parseFile,
  releaseOf,
  RULES,
  sha256,
  unitsOf,
  type ModelFile,
} from '../../../support/index-release.ts';
import { openIndexInTest } from '../../../support/open-index.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const file = (destination: string, ...texts: string[]): ModelFile => ({
  destination,
  leaves: [{ units: texts.map((text, index) => [String(index), text]) }],
});

const textsOf = (index: ParseIndex): string[] => allUnits(index).map(({ source_text: text }) => text);

describe('the index of a release', () => {
  describe('indexing a release', () => {
    it('shows nothing before the first release is complete', () => {
      const index = openIndexInTest();
      const { indexId } = index.begin(releaseOf('r1', [file('a', 'x')]));
      parseFile(index, indexId, 0, file('a', 'x'));
      expect(index.status()).toMatchObject({ release_id: null, units: 0, carry_over: null });
      expect(index.textUnits({ offset: 0, limit: 10 })).toMatchObject({
        release_id: null,
        total: 0,
        items: [],
      });
      expect(index.errors({ offset: 0, limit: 10 })).toMatchObject({ release_id: null, total: 0 });
      finishSteps(index.complete(indexId));
      expect(textsOf(index)).toEqual(['x']);
    });

    it('switches reports to the next release in one step, with a larger generation', () => {
      const index = openIndexInTest();
      const first = indexRelease(index, 'r1', [file('a', 'x')]).reported;
      const files = [file('a', 'y'), file('b', 'z')];
      const { indexId } = index.begin(releaseOf('r2', files));
      parseFile(index, indexId, 0, files[0]!);
      expect(textsOf(index)).toEqual(['x']);
      expect(() => finishSteps(index.complete(indexId))).toThrow(/1 files of release r2 are not parsed yet/);
      parseFile(index, indexId, 1, files[1]!);
      const steps = index.complete(indexId);
      for (let step = steps.next(); step.done !== true; step = steps.next()) {
        expect(index.status()).toMatchObject({ release_id: 'r1', generation: first.generation });
        expect(textsOf(index)).toEqual(['x']);
      }
      expect(textsOf(index)).toEqual(['y', 'z']);
      const { release_id: releaseId, generation } = index.status();
      expect(releaseId).toBe('r2');
      expect(generation).toBeGreaterThan(first.generation);
      expect(index.textUnits({ offset: 0, limit: 1 })).toMatchObject({
        release_id: 'r2',
        generation,
        total: 2,
      });
    });

    it('parses only files whose bytes are new', () => {
      const index = openIndexInTest();
      expect(indexRelease(index, 'r1', [file('a', 'x'), file('b', 'y')])).toMatchObject({
        parsed: 2,
        copied: 0,
      });
      expect(indexRelease(index, 'r2', [file('a', 'x'), file('b', 'z')])).toMatchObject({
        parsed: 1,
        copied: 0,
      });
      expect(indexRelease(index, 'r2', [file('a', 'x'), file('b', 'z')])).toMatchObject({
        parsed: 0,
        copied: 0,
      });
      expect(index.status()).toMatchObject({ units: 2, carry_over: { previous_release_id: 'r1', same: 1 } });
    });

    it('parses everything again for other rules, and keeps what it carried over from', () => {
      const index = openIndexInTest();
      indexRelease(index, 'r1', [file('a', 'x')]);
      indexRelease(index, 'r2', [file('a', 'x')]);
      expect(indexRelease(index, 'r2', [file('a', 'x')], sha256('other rules'))).toMatchObject({ parsed: 1 });
      expect(index.status()).toMatchObject({
        rules_digest: sha256('other rules').toString('hex'),
        carry_over: { previous_release_id: 'r1', same: 1 },
      });
    });

    it('gives a file with known bytes and another name its own unit ids', () => {
      const index = openIndexInTest();
      const errors = [
        {
          archiveEntry: null,
          pathId: null,
          classId: null,
          format: 'json',
          fieldPath: '/2',
          code: 'encoding_invalid',
          message: 'm',
          severity: 'error' as const,
        },
      ];
      const old = { ...file('a', 'x', 'y', '「z」'), errors };
      indexRelease(index, 'r1', [old]);
      const copies = [
        { ...old, destination: 'b' },
        { ...old, destination: 'c' },
      ];
      expect(indexRelease(index, 'r2', copies)).toMatchObject({ parsed: 0, copied: 2 });
      expect(index.status()).toMatchObject({ units: 6, errors: 2, errors_by_code: { encoding_invalid: 2 } });
      const parsed = openIndexInTest();
      indexRelease(parsed, 'r1', [old]);
      const { indexId } = parsed.begin(releaseOf('r2', copies));
      for (const [position, copy] of copies.entries()) parseFile(parsed, indexId, position, copy);
      finishSteps(parsed.complete(indexId));
      expect(allUnits(index)).toEqual(allUnits(parsed));
    });

    it('copies long texts in bounded batches', () => {
      const index = openIndexInTest();
      const texts = Array.from({ length: 40 }, (_, i) => `${i} ${'x'.repeat(100_000)}`);
      indexRelease(index, 'r1', [file('a', ...texts)]);
      const { indexId } = index.begin(releaseOf('r2', [file('b', ...texts)]));
      const steps = index.copy(indexId, 0);
      let count = 0;
      while (steps.next().done !== true) count += 1;
      expect(count).toBe(4);
      finishSteps(index.complete(indexId));
      expect(textsOf(index)).toEqual(texts);
    });

    it('parses one of several new files with equal bytes and copies the others', () => {
      const index = openIndexInTest();
      const files = ['a', 'b', 'c'].map((name) => file(name, 'x'));
      expect(indexRelease(index, 'r1', files)).toMatchObject({ parsed: 1, copied: 2 });
      expect(new Set(allUnits(index).map(({ unit_id: id }) => id)).size).toBe(3);
    });

    it('does not copy a failure that had nothing to do with the bytes', () => {
      const index = openIndexInTest();
      const files = ['a', 'b'].map((name) => file(name, 'x'));
      const { indexId, toCopy } = index.begin(releaseOf('r1', files));
      parseFile(index, indexId, 0, files[0]!, {
        outcome: { ...PARSED, parseStatus: 'failed', isReusable: false },
      });
      expect(toCopy).toEqual([1]);
      expect(finishSteps(index.copy(indexId, 1))).toBe(false);
    });

    it('parses a file again whose failure had nothing to do with its bytes', () => {
      const index = openIndexInTest();
      const { indexId } = index.begin(releaseOf('r1', [file('a', 'x')]));
      parseFile(
        index,
        indexId,
        0,
        { ...file('a'), errors: [] },
        {
          outcome: { ...PARSED, parseStatus: 'failed', isReusable: false },
        },
      );
      finishSteps(index.complete(indexId));
      expect(index.status()).toMatchObject({ by_parse_status: { failed: 1 }, units: 0 });
      expect(indexRelease(index, 'r1', [file('a', 'x')])).toMatchObject({ parsed: 1 });
      expect(index.status()).toMatchObject({ by_parse_status: { parsed: 1 }, units: 1 });
    });

    it('sums up what parse.status shows', () => {
      const index = openIndexInTest();
      const { indexId } = index.begin(releaseOf('r1', [file('a', 'x'), file('b', 'y', 'z'), file('c')]));
      parseFile(index, indexId, 0, file('a', 'x'));
      parseFile(index, indexId, 1, file('b', 'y', 'z'), {
        outcome: {
          ...PARSED,
          format: 'csv',
          parseStatus: 'partial',
          skipped: { no_source_script: 1, denied: 4 },
        },
      });
      parseFile(index, indexId, 2, file('c'), {
        outcome: { ...PARSED, format: null, parseStatus: 'unsupported', skipped: {} },
      });
      const { generation } = finishSteps(index.complete(indexId));
      expect(index.status()).toEqual({
        release_id: 'r1',
        generation,
        indexed_at: expect.any(Number) as number,
        containers: 3,
        by_parse_status: { parsed: 1, partial: 1, unsupported: 1 },
        by_format: { json: 1, csv: 1 },
        units: 3,
        errors: 0,
        warnings: 0,
        errors_by_code: {},
        skipped: { no_source_script: 3, denied: 4 },
        seconds: 1.5,
        bytes: 300,
        parser_version: '1',
        rules_digest: RULES.toString('hex'),
        carry_over: null,
      });
    });

    it('refuses files out of order, keys that occur twice, batches without a bound and ids of another size', () => {
      const index = openIndexInTest();
      expect(() => index.begin(releaseOf('r1', [file('b'), file('a')]))).toThrow(/not in order/);
      expect(() =>
        index.begin(
          releaseOf('r1', [
            { ...file('a'), key: 'k' },
            { ...file('b'), key: 'k' },
          ]),
        ),
      ).toThrow(/UNIQUE constraint failed: .*destination_key/);
      const { indexId } = index.begin(releaseOf('r1', [file('a')]));
      const contentId = index.start(indexId, 0);
      const [unit] = unitsOf(file('a', 'x'));
      expect(() =>
        index.append(
          contentId,
          Array.from({ length: 1001 }, () => unit!),
        ),
      ).toThrow(/at most 1000/);
      expect(() => index.append(contentId, [{ ...unit!, unitId: Buffer.alloc(15) }])).toThrow(/16 bytes/);
      expect(() => index.start(indexId, 1)).toThrow(/no file at position 1/);
      expect(() => index.append(contentId + 1, [])).toThrow(/not being written/);
    });
  });

  describe('an indexing that was interrupted', () => {
    it('finds finished files again and drops the one that was not finished', async () => {
      const path = join(await temporaryDirectory(), 'index.db');
      const files = [file('a', 'x'), file('b', 'y', 'z')];
      const crashed = openIndexInTest(path);
      const before = crashed.begin(releaseOf('r1', files));
      parseFile(crashed, before.indexId, 0, files[0]!);
      const unfinished = crashed.start(before.indexId, 1);
      crashed.append(unfinished, unitsOf(files[1]!).slice(0, 1));
      crashed.close();
      const index = openIndexInTest(path);
      expect(() => index.append(unfinished, [])).toThrow(/not being written/);
      const { indexId, toParse } = index.begin(releaseOf('r1', files));
      expect(toParse).toEqual([1]);
      parseFile(index, indexId, 1, files[1]!);
      finishSteps(index.complete(indexId));
      expect(textsOf(index)).toEqual(['x', 'y', 'z']);
      while (index.step());
      expect(textsOf(index)).toEqual(['x', 'y', 'z']);
    });

    it('may begin twice; what still arrives for the first one is refused', () => {
      const index = openIndexInTest();
      const files = [file('a', 'x')];
      const first = index.begin(releaseOf('r1', files));
      const contentId = index.start(first.indexId, 0);
      const second = index.begin(releaseOf('r1', files));
      expect(() => index.append(contentId, unitsOf(files[0]!))).toThrow(/not being written/);
      expect(() => index.start(first.indexId, 0)).toThrow(/is not being built/);
      expect(() => finishSteps(index.complete(first.indexId))).toThrow(/is not being built/);
      parseFile(index, second.indexId, 0, files[0]!);
      expect(index.begin(releaseOf('r1', files)).toParse).toEqual([]);
    });

    it('leaves nothing behind, however often it fails', async () => {
      const path = join(await temporaryDirectory(), 'index.db');
      const index = openIndexInTest(path);
      const rows = (): number[] => {
        const database = new DatabaseSync(path, { readOnly: true });
        const counts = ['unit', 'content', 'container', 'release_index'].map((table) =>
          Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n']),
        );
        database.close();
        return counts;
      };
      indexRelease(index, 'r0', [file('a', 'x')]);
      for (let attempt = 1; attempt <= 4; attempt += 1) {
        const files = [file('a', `x${attempt}`), file('b', `y${attempt}`)];
        const { indexId } = index.begin(releaseOf(`r${attempt}`, files));
        finishSteps(index.reclaim());
        // The text of the release that reports show, and two files of which none has text yet.
        expect(rows()).toEqual([1, 1, 3, 2]);
        parseFile(index, indexId, 0, files[0]!);
        index.append(index.start(indexId, 1), unitsOf(files[1]!));
      }
      expect(textsOf(index)).toEqual(['x']);
    });

    it('starts a file over after its parser died', () => {
      const index = openIndexInTest();
      const { indexId } = index.begin(releaseOf('r1', [file('a', 'x', 'y')]));
      const lost = index.start(indexId, 0);
      index.append(lost, unitsOf(file('a', 'x')));
      parseFile(index, indexId, 0, file('a', 'x', 'y'));
      expect(() => index.append(lost, [])).toThrow(/not being written/);
      finishSteps(index.complete(indexId));
      expect(textsOf(index)).toEqual(['x', 'y']);
    });

    it('carries over again when it was interrupted at any step', () => {
      const filesOf = (...texts: string[]): ModelFile[] => [
        file('f', ...texts),
        { ...file('g', ...texts.slice(1)), key: `g-${texts.length}` },
      ];
      const old = filesOf('a', 'b', 'c', 'd');
      const now = filesOf('a', 'x', 'c', 'b', 'e');
      const expected = openIndexInTest();
      indexRelease(expected, 'r1', old);
      indexRelease(expected, 'r2', now);
      for (let stop = 0; ; stop += 1) {
        const index = openIndexInTest();
        indexRelease(index, 'r1', old);
        const { indexId, toParse } = index.begin(releaseOf('r2', now));
        for (const position of toParse) parseFile(index, indexId, position, now[position]!);
        const steps = index.complete(indexId);
        let isDone = false;
        for (let step = 0; step < stop && !isDone; step += 1) isDone = steps.next().done === true;
        if (isDone) break;
        finishSteps(index.complete(indexId));
        expect(index.status().carry_over).toEqual(expected.status().carry_over);
        expect(allUnits(index)).toEqual(allUnits(expected));
      }
    });
  });

  describe('old releases', () => {
    it('leave in bounded steps with all that no other release uses', () => {
      const index = openIndexInTest();
      const many = Array.from({ length: 2500 }, (_, i) => `text ${i}`);
      indexRelease(index, 'r1', [file('a', 'x'), file('b', ...many)]);
      indexRelease(index, 'r2', [file('a', 'x'), file('b', 'y')]);
      indexRelease(index, 'r3', [file('a', 'x'), file('b', 'y')]);
      index.drop(['r2', 'r3']);
      let steps = 0;
      while (index.step()) {
        steps += 1;
        expect(textsOf(index)).toEqual(['x', 'y']);
      }
      expect(steps).toBeGreaterThan(3);
      expect(index.differences({ fromRelease: 'r1', toRelease: 'r2', offset: 0, limit: 10 })).toBeNull();
      // The text of "a" is shared, that of the old "b" is gone.
      expect(indexRelease(index, 'r4', [file('a', 'x'), file('b', ...many)])).toMatchObject({ parsed: 1 });
    });

    it('stay while reports show them', () => {
      const index = openIndexInTest();
      indexRelease(index, 'r1', [file('a', 'x')]);
      index.drop([]);
      while (index.step());
      expect(textsOf(index)).toEqual(['x']);
    });

    it('are not deleted while a release is being indexed that may copy from them', () => {
      const index = openIndexInTest();
      indexRelease(index, 'r1', [file('a', 'x')]);
      indexRelease(index, 'r2', [file('a', 'y')]);
      index.drop(['r2']);
      const { indexId, toCopy } = index.begin(releaseOf('r3', [file('b', 'x')]));
      while (index.step());
      expect(toCopy).toEqual([0]);
      expect(finishSteps(index.copy(indexId, 0))).toBe(true);
      finishSteps(index.complete(indexId));
      while (index.step());
      expect(textsOf(index)).toEqual(['x']);
    });

    it('do not hold the text that a file had before it was parsed again', () => {
      const index = openIndexInTest();
      indexRelease(index, 'r1', [file('a', 'x')]);
      const { indexId, toParse } = index.begin(releaseOf('r1', [file('a', 'x')]));
      expect(toParse).toEqual([]);
      parseFile(index, indexId, 0, file('a', 'x', 'found by a repaired parser'));
      expect(textsOf(index)).toEqual(['x']);
      finishSteps(index.complete(indexId));
      expect(index.step()).toBe(true);
      while (index.step());
      expect(textsOf(index)).toEqual(['x', 'found by a repaired parser']);
      expect(indexRelease(index, 'r2', [file('a', 'x')])).toMatchObject({ parsed: 0 });
      expect(index.status().units).toBe(2);
    });

    it('can be indexed again without parsing', () => {
      const index = openIndexInTest();
      indexRelease(index, 'r1', [file('a', 'x')]);
      indexRelease(index, 'r2', [file('a', 'y')]);
      expect(indexRelease(index, 'r1', [file('a', 'x')])).toMatchObject({ parsed: 0 });
      expect(index.status()).toMatchObject({
        release_id: 'r1',
        carry_over: { previous_release_id: 'r2', changed: 1 },
      });
    });
  });
});

const FILE: ModelFile = { destination: 'a', leaves: [{ units: [['0', 'x']] }] };

async function indexFile(): Promise<string> {
  return join(await temporaryDirectory(), 'index.db');
}

describe('the file of the parse index', () => {
  it('keeps its content', async () => {
    const path = await indexFile();
    const first = openIndexInTest(path);
    indexRelease(first, 'r1', [FILE]);
    first.close();
    const again = openIndexInTest(path);
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
        const index = openIndexInTest(path);
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
        openIndexInTest(path).close();
        const other = new DatabaseSync(path);
        other.exec(`PRAGMA application_id = ${0x53_4c_49_00 + INDEX_SCHEMA_VERSION + 1}`);
        other.close();
      },
    ],
    [
      'has a newer schema',
      (path: string) => {
        openIndexInTest(path).close();
        const other = new DatabaseSync(path);
        other.exec('PRAGMA user_version = 2');
        other.close();
      },
    ],
  ])('is replaced by an empty one when it %s', async (_, spoil) => {
    const path = await indexFile();
    await Promise.resolve(spoil(path));
    const index = openIndexInTest(path);
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
