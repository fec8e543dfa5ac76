import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { MEMORY_MAINTAIN_JOB } from '../../../../src/localization/memory/memory-jobs.ts';
import type { Memory } from '../../../../src/localization/memory/memory.ts';
import { MemoryFiles } from '../../../../src/localization/memory/store/memory-files.ts';
import { createTextIndexing } from '../../../../src/localization/memory/text-indexing.ts';
import { callOf } from '../../../../src/engine/tasks/job.ts';
import { act } from '../../../support/actions.ts';
import { startMemory } from '../../../support/memory-part.ts';
import { lookup, memoryFiles, proposal, trust } from '../../../support/memory-records.ts';
import { askReport } from '../../../support/reports.ts';
import { taskOf } from '../../../support/task-engine.ts';
import { until } from '../../../support/until.ts';
import { findMatches } from '../../../../src/localization/memory/store/memory-lookup.ts';
import { countRecords } from '../../../../src/localization/memory/store/memory-reads.ts';

const REVIEW = { reviewer: 'mika', reason: 'reviewed' };

/** Adds a candidate; gives its id. */
async function add(memory: Memory, source: string, target: string): Promise<string> {
  const [outcome] = await memory.translationMemory.propose([proposal(source, target)]);
  if (outcome === undefined || outcome.outcome === 'refused') throw new Error('refused');
  return outcome.record_id;
}

async function confirmRecord(memory: Memory, record_id: string, fields: object = {}) {
  return await act(memory.actions, 'translation-memory-confirm', { record_id, reviewer: 'mika', ...fields });
}

describe('the Translation Memory', () => {
  describe('a record from a proposal to its reuse', () => {
    it('is a suggestion before it is confirmed, and is reused after that', async () => {
      const { memory } = await startMemory();
      const { reports } = memory;
      const id = await add(memory, 'はい', '是');
      expect(id).toMatch(/^tm_[0-9A-Z]{26}$/);
      expect(await askReport(reports, 'translation.memory.query', { source_text: 'はい' })).toMatchObject({
        decision: 'suggest',
        matches: [{ score: 70, record: { record_id: id, state: 'candidate' } }],
      });
      const accepted = await confirmRecord(memory, id);
      expect(accepted.task).toMatchObject({
        status: 'succeeded',
        result: { changed: true, record: { state: 'trusted' } },
      });
      expect(await askReport(reports, 'translation.memory.query', { source_text: 'はい' })).toMatchObject({
        decision: 'reuse',
        matches: [{ score: 100, proposed_text: '是', record: { reviewer: 'mika', is_default: true } }],
      });
      expect(await askReport(reports, 'translation.memory.summary')).toMatchObject({
        available: true,
        path: 'memory.db',
        counts: { trusted: 1, candidate: 0 },
      });
    });

    it('is not reused when its target is blocked, and cannot be confirmed then', async () => {
      const { memory } = await startMemory();
      const id = await add(memory, '{0}個', '个');
      await expect(confirmRecord(memory, id)).rejects.toMatchObject({
        code: 'qa_blocked',
        message: expect.stringMatching(/placeholder_mismatch/),
      });
      const forced = await memory.translationMemory.confirm({
        record_id: id,
        supersede_record_id: null,
        force: false,
        ...REVIEW,
      });
      expect(forced.ok).toBe(true);
      const answer = await askReport(memory.reports, 'translation.memory.query', { source_text: '{0}個' });
      expect(answer).toMatchObject({
        decision: 'suggest',
        matches: [{ score: 99, decision: 'suggest', penalties: [{ code: 'qa_blocked', points: 1 }] }],
      });
    });

    it('is found by the concordance, which is the only mode', async () => {
      const { memory } = await startMemory();
      await add(memory, '学園生活が始まる', '校园生活开始了');
      const ask = async (mode: string) =>
        await askReport(memory.reports, 'translation.memory.query', {
          source_text: '生活开始',
          source_context: JSON.stringify({ mode }),
        });
      expect(await ask('concordance')).toMatchObject({
        decision: 'suggest',
        truncated: false,
        matches: [{ match_type: 'concordance' }],
      });
      await expect(ask('fuzzy')).rejects.toMatchObject({ code: 'invalid_request' });
    });
  });

  it('replaces the record that an edit names, and tells of replaced records, not of candidates', async () => {
    const { memory, events } = await startMemory();
    const heard: (readonly string[])[] = [];
    events.subscribe(({ recordIds }) => heard.push(recordIds));
    const [a, b] = [await add(memory, 'はい', '是'), await add(memory, 'はい', '好')];
    await confirmRecord(memory, a);
    const args = ['target=对'];
    await expect(confirmRecord(memory, b, { args })).rejects.toMatchObject({
      code: 'trusted_conflict',
      message: expect.stringContaining('supersede_record_id') as string,
    });
    const edited = await confirmRecord(memory, b, { args, supersede_record_id: a });
    expect(edited.task.result).toMatchObject({ changed: true, record: { target_text: '对' } });
    const other = await add(memory, 'いいえ', '不');
    await confirmRecord(memory, other, { args: ['target=不是'] });
    expect(heard).toEqual([[a]]);
  });

  describe('a conflict', () => {
    it('is opened by force, listed, and resolved once', async () => {
      const { memory } = await startMemory();
      const [a, b] = [await add(memory, 'はい', '是'), await add(memory, 'はい', '好')];
      await confirmRecord(memory, a);
      await expect(confirmRecord(memory, b)).rejects.toMatchObject({ code: 'trusted_conflict' });
      await confirmRecord(memory, b, { force: true });
      expect(await askReport(memory.reports, 'translation.memory.conflicts')).toMatchObject({
        total: 1,
        limit: 100,
        groups: [{ source_text: 'はい', records: [{ record_id: a }, { record_id: b }] }],
      });
      const resolution = { winner_record_id: a, expected_trusted_record_ids: [a, b], ...REVIEW };
      const resolve = async () =>
        await act(memory.actions, 'translation-memory-resolve-conflict', resolution);
      expect((await resolve()).task.result).toMatchObject({ superseded_record_ids: [b] });
      expect((await resolve()).task.result).toMatchObject({ superseded_record_ids: [] });
      expect((await askReport(memory.reports, 'translation.memory.conflicts')).total).toBe(0);
    });

    it.each([
      ['translation-memory-confirm', { record_id: 'tm_x', reviewer: 'mika' }, 'unknown_record'],
      [
        'translation-memory-confirm',
        { record_id: 'tm_x', reviewer: 'mika', translation_memory_path: 'a.db' },
        'file_not_found',
      ],
      [
        'translation-memory-resolve-conflict',
        { winner_record_id: 'tm_x', expected_trusted_record_ids: ['tm_x', 'tm_y'], ...REVIEW },
        'unknown_record',
      ],
    ])('%s of %j is refused', async (action, body, code) => {
      const { memory } = await startMemory();
      await expect(act(memory.actions, action, body)).rejects.toMatchObject({ code });
    });
  });

  describe('the file of the Translation Memory', () => {
    it('is named unavailable everywhere when it is damaged, and stays as it is', async () => {
      const damage = Buffer.from('not SQLite '.repeat(500));
      const { memory, dataDirectory } = await startMemory((folder) =>
        writeFileSync(join(folder, 'memory.db'), damage),
      );
      const { reports } = memory;
      expect(await askReport(reports, 'translation.memory.summary')).toMatchObject({
        available: false,
        reason: expect.stringMatching(/restore memory\.db from a backup/),
      });
      for (const [name, query] of [
        ['translation.memory.query', { source_text: 'はい' }],
        ['translation.memory.conflicts', {}],
      ] as const) {
        await expect(askReport(reports, name, query)).rejects.toMatchObject({ code: 'backend_unavailable' });
      }
      await expect(confirmRecord(memory, 'tm_x')).rejects.toMatchObject({
        code: 'backend_unavailable',
        message: expect.stringMatching(/not a database/),
      });
      expect(await memory.check.run(new AbortController().signal)).toMatchObject({ status: 'failing' });
      expect(memory.latestCounts()).toBeNull();
      expect(readFileSync(join(dataDirectory, 'memory.db')).equals(damage)).toBe(true);
    });

    it('is counted by the doctor', async () => {
      const { memory } = await startMemory();
      await add(memory, 'はい', '是');
      expect(await memory.check.run(new AbortController().signal)).toEqual({
        status: 'ok',
        message: '0 trusted records and 1 candidate, 0 conflicts',
      });
      expect(memory.latestCounts()?.counts.candidate).toBe(1);
    });

    it('a path that leaves the root is a bad request, and a missing file is one too, but for the summary', async () => {
      const { memory } = await startMemory();
      const ask = async (path: string) =>
        await askReport(memory.reports, 'translation.memory.summary', { translation_memory_path: path });
      await expect(ask('../memory.db')).rejects.toMatchObject({ code: 'invalid_path' });
      expect(await ask('a.db')).toMatchObject({
        available: false,
        path: 'a.db',
        reason: expect.stringMatching(/there is no Translation Memory "a\.db" in the folder memory\.root/),
      });
      for (const report of ['translation.memory.query', 'translation.memory.conflicts'] as const) {
        const query = {
          translation_memory_path: 'a.db',
          ...(report.endsWith('query') ? { source_text: 'x' } : {}),
        };
        await expect(askReport(memory.reports, report, query)).rejects.toMatchObject({
          code: 'invalid_path',
          options: { errors: [{ pointer: 'translation_memory_path', message: 'names no file' }] },
        });
      }
    });
  });

  describe('the upkeep', () => {
    it('merges the text indexes and loses nothing', async () => {
      const { memory, engine } = await startMemory();
      const texts = Array.from({ length: 300 }, (_, index) =>
        createHash('sha256').update(String(index)).digest('base64').repeat(4),
      );
      for (const text of texts) await add(memory, text, text);
      engine.start();
      const { task } = engine.submit({ ...callOf(MEMORY_MAINTAIN_JOB, {}), dedupe: true });
      await until(() => taskOf(engine, task.task_id).status === 'succeeded');
      const answers = await memory.translationMemory.lookUp(texts.map((text) => lookup(`${text}!`)));
      expect(answers.filter(({ decision }) => decision === 'suggest')).toHaveLength(texts.length);
    });
  });

  it('has an upkeep that succeeds before anybody has used it', async () => {
    const { engine } = await startMemory();
    engine.start();
    const { task } = engine.submit({ ...callOf(MEMORY_MAINTAIN_JOB, {}), dedupe: true });
    await until(() => ['succeeded', 'failed'].includes(taskOf(engine, task.task_id).status));
    expect(taskOf(engine, task.task_id)).toMatchObject({ status: 'succeeded', failure_reason: null });
  });

  describe('the interface for other parts', () => {
    it('answers a batch of any size in its order, and counts uses', async () => {
      const { memory } = await startMemory();
      const { translationMemory } = memory;
      const many = Array.from({ length: 1200 }, (_, index) => proposal(`文${index}`, `句${index}`));
      expect(await translationMemory.propose(many)).toHaveLength(many.length);
      const answers = await translationMemory.lookUp(
        many.map(({ source_text }) => lookup(source_text, { depth: 'exact' })),
      );
      expect(answers.map(({ matches }) => matches[0]?.proposed_text)).toEqual(
        many.map(({ target_text }) => target_text),
      );
      const id = answers[0]?.matches[0]?.record.record_id ?? '';
      await translationMemory.countUse([id, id]);
      expect(await translationMemory.record(id)).toMatchObject({ use_count: 2 });
      expect(await translationMemory.reject({ record_id: id, ...REVIEW })).toMatchObject({ ok: true });
      expect(await translationMemory.history(id)).toMatchObject([{ action: 'reject', reason: 'reviewed' }]);
    });
  });
});

function counts(files: MemoryFiles, path: string | null = null) {
  return files.read(path, (store) => countRecords(store).counts);
}

function runSql(path: string, sql: string): void {
  const raw = new DatabaseSync(path);
  raw.exec(sql);
  raw.close();
}

describe('the files of the Translation Memory', () => {
  describe('the main file', () => {
    it('is created empty, and keeps its records when it is opened again', async () => {
      const { files, paths } = await memoryFiles();
      expect(counts(files)).toEqual({
        candidate: 0,
        trusted: 0,
        superseded: 0,
        rejected: 0,
        conflict_groups: 0,
      });
      trust(files, proposal('はい', '是'));
      files.close();
      const again = new MemoryFiles(paths);
      expect(again.read(null, (store) => findMatches(store, lookup('はい')))).toMatchObject([{ score: 100 }]);
      again.close();
    });

    it.each<[string, (path: string) => void, RegExp]>([
      ['damaged', (path) => truncateSync(path, 5000), /damaged|malformed|not a database/],
      ['overwritten', (path) => writeFileSync(path, 'x'.repeat(4096)), /not a database/],
      ['newer', (path) => runSql(path, 'PRAGMA user_version = 99'), /newer daemon/],
      ['too old', (path) => runSql(path, 'PRAGMA user_version = 1'), /before the first release/],
      ['of another program', (path) => runSql(path, 'PRAGMA application_id = 7'), /another program/],
    ])(
      'that is %s is unavailable, left as it is, and used again when it is restored',
      async (_, spoil, message) => {
        const { files, paths } = await memoryFiles();
        trust(files, proposal('はい', '是'));
        files.close();
        const backup = `${paths.main}.backup`;
        cpSync(paths.main, backup);
        spoil(paths.main);
        const spoiled = readFileSync(paths.main);
        for (let attempt = 0; attempt < 2; attempt += 1) {
          expect(() => counts(files)).toThrow(expect.objectContaining({ code: 'unavailable' }));
          expect(() => counts(files)).toThrow(message);
          expect(() => trust(files, proposal('いいえ', '不'))).toThrow(message);
        }
        expect(readFileSync(paths.main).equals(spoiled)).toBe(true);
        for (const suffix of ['', '-wal', '-shm']) rmSync(paths.main + suffix, { force: true });
        cpSync(backup, paths.main);
        expect(counts(files)).toMatchObject({ trusted: 1 });
      },
    );
  });

  describe('the main file that is gone', () => {
    it('is not replaced by an empty one, also while it was open', async () => {
      const { files, paths } = await memoryFiles();
      trust(files, proposal('はい', '是'));
      for (const suffix of ['', '-wal', '-shm']) rmSync(paths.main + suffix, { force: true });
      expect(() => counts(files)).toThrow(/was there before and is missing now/);
      expect(() => trust(files, proposal('いいえ', '不'))).toThrow(
        expect.objectContaining({ code: 'unavailable' }),
      );
      rmSync(join(dirname(paths.main), '.memory.db.created'));
      files.close();
      const again = new MemoryFiles(paths);
      expect(counts(again)).toMatchObject({ trusted: 0 });
      again.close();
    });
  });

  describe('other files', () => {
    it('are read below the root, with links resolved, and never written', async () => {
      const { files, paths } = await memoryFiles();
      trust(files, proposal('はい', '是'));
      files.close();
      mkdirSync(join(paths.root, 'old'), { recursive: true });
      cpSync(paths.main, join(paths.root, 'old/2025.db'));
      symlinkSync(join(paths.root, 'old/2025.db'), join(paths.root, 'last.db'));
      for (const path of ['old/2025.db', 'last.db'])
        expect(counts(files, path)).toMatchObject({ trusted: 1 });
      expect(() => files.write('old/2025.db', (store) => countRecords(store))).toThrow(
        expect.objectContaining({ code: 'invalid_path' }),
      );
    });

    it('can be the main file when it lies below the root', async () => {
      const { files, paths } = await memoryFiles();
      trust(files, proposal('はい', '是'));
      files.close();
      const own = new MemoryFiles({ main: paths.main, root: dirname(paths.main) });
      onTestFinished(() => own.close());
      symlinkSync(paths.main, join(dirname(paths.main), 'own.db'));
      for (const path of ['memory.db', 'own.db']) {
        expect(own.write(path, (store) => countRecords(store))).toMatchObject({ counts: { trusted: 1 } });
      }
    });

    it('may be on a folder that cannot be written', async () => {
      const { files, paths } = await memoryFiles();
      trust(files, proposal('はい', '是'));
      files.close();
      mkdirSync(paths.root);
      cpSync(paths.main, join(paths.root, 'a.db'));
      chmodSync(join(paths.root, 'a.db'), 0o400);
      expect(counts(files, 'a.db')).toMatchObject({ trusted: 1 });
    });

    it.each(['../memory.db', '/etc/passwd', 'a//b', './a.db', 'a\0b', 'a\\b', '', 'out.db'])(
      'outside of the root are refused: %j',
      async (path) => {
        const { files, paths } = await memoryFiles();
        mkdirSync(paths.root);
        writeFileSync(join(dirname(paths.root), 'secret.db'), '');
        symlinkSync(join(dirname(paths.root), 'secret.db'), join(paths.root, 'out.db'));
        expect(() => counts(files, path)).toThrow(expect.objectContaining({ code: 'invalid_path' }));
      },
    );

    it('that are missing or no Translation Memory are named as such', async () => {
      const { files, paths } = await memoryFiles();
      expect(() => counts(files, 'a.db')).toThrow(expect.objectContaining({ code: 'file_not_found' }));
      mkdirSync(paths.root);
      expect(() => counts(files, 'a.db')).toThrow(expect.objectContaining({ code: 'file_not_found' }));
      runSql(join(paths.root, 'b.db'), 'CREATE TABLE t (x)');
      expect(() => counts(files, 'b.db')).toThrow(/not a Translation Memory/);
    });

    it('are closed when many are open, and opened again', async () => {
      const { files, paths } = await memoryFiles();
      trust(files, proposal('はい', '是'));
      files.close();
      mkdirSync(paths.root);
      const names = Array.from({ length: 7 }, (_, index) => `${index}.db`);
      for (const name of names) cpSync(paths.main, join(paths.root, name));
      for (const name of [...names, ...names]) expect(counts(files, name)).toMatchObject({ trusted: 1 });
    });
  });
});

describe('the indexing of new records', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('begins when nothing was written for two seconds, and continues until a step finds nothing', () => {
    const step = vi.fn().mockReturnValue(true).mockReturnValueOnce(true).mockReturnValueOnce(false);
    const indexing = createTextIndexing(step);
    indexing.changed();
    vi.advanceTimersByTime(1500);
    indexing.changed();
    vi.advanceTimersByTime(1999);
    expect(step).not.toHaveBeenCalled();
    vi.advanceTimersByTime(10);
    expect(step).toHaveBeenCalledTimes(2);
    vi.advanceTimersByTime(60_000);
    expect(step).toHaveBeenCalledTimes(2);
  });

  it('begins after thirty seconds although records still arrive', () => {
    const step = vi.fn().mockReturnValue(false);
    const indexing = createTextIndexing(step);
    for (let second = 0; second < 30; second += 1) {
      indexing.changed();
      vi.advanceTimersByTime(1000);
    }
    expect(step).toHaveBeenCalledTimes(1);
  });

  it('tries again with the next change after a failure, and ends when it is stopped', () => {
    const step = vi.fn(() => {
      throw new Error('the disk is full');
    });
    const indexing = createTextIndexing(step);
    indexing.changed();
    vi.advanceTimersByTime(60_000);
    expect(step).toHaveBeenCalledTimes(1);
    indexing.changed();
    vi.advanceTimersByTime(60_000);
    expect(step).toHaveBeenCalledTimes(2);
    indexing.changed();
    indexing.stop();
    vi.advanceTimersByTime(60_000);
    expect(step).toHaveBeenCalledTimes(2);
  });
});
