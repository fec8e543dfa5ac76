import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Memory } from '../../../../src/daemon/memory/memory.ts';
import { MEMORY_MAINTAIN_JOB } from '../../../../src/daemon/memory/memory-jobs.ts';
import { callOf } from '../../../../src/daemon/tasks/job.ts';
import { act } from '../../../support/actions.ts';
import { lookup, proposal } from '../../../support/memory-records.ts';
import { startMemory } from '../../../support/memory-part.ts';
import { askReport } from '../../../support/reports.ts';
import { taskOf } from '../../../support/task-engine.ts';
import { until } from '../../../support/until.ts';

const REVIEW = { reviewer: 'mika', reason: 'reviewed' };

/** Adds a candidate; gives its id. */
async function add(memory: Memory, source: string, target: string): Promise<string> {
  const [outcome] = await memory.translationMemory.propose([proposal(source, target)]);
  if (outcome === undefined || outcome.outcome === 'refused') throw new Error('refused');
  return outcome.record_id;
}

async function confirm(memory: Memory, record_id: string, fields: object = {}) {
  return await act(memory.actions, 'translation-memory-confirm', { record_id, reviewer: 'mika', ...fields });
}

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
    const accepted = await confirm(memory, id);
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
    await expect(confirm(memory, id)).rejects.toMatchObject({
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

describe('a conflict', () => {
  it('is opened by force, listed, and resolved once', async () => {
    const { memory } = await startMemory();
    const [a, b] = [await add(memory, 'はい', '是'), await add(memory, 'はい', '好')];
    await confirm(memory, a);
    await expect(confirm(memory, b)).rejects.toMatchObject({ code: 'trusted_conflict' });
    await confirm(memory, b, { force: true });
    expect(await askReport(memory.reports, 'translation.memory.conflicts')).toMatchObject({
      total: 1,
      limit: 100,
      groups: [{ source_text: 'はい', records: [{ record_id: a }, { record_id: b }] }],
    });
    const resolution = { winner_record_id: a, expected_trusted_record_ids: [a, b], ...REVIEW };
    const resolve = async () => await act(memory.actions, 'translation-memory-resolve-conflict', resolution);
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
    await expect(confirm(memory, 'tm_x')).rejects.toMatchObject({
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

  it('a path that leaves the root is a bad request, and a missing file is unavailable', async () => {
    const { memory } = await startMemory();
    const ask = async (path: string) =>
      await askReport(memory.reports, 'translation.memory.summary', { translation_memory_path: path });
    await expect(ask('../memory.db')).rejects.toMatchObject({ code: 'invalid_path' });
    expect(await ask('a.db')).toMatchObject({
      available: false,
      path: 'a.db',
      reason: expect.stringMatching(/there is no/),
    });
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
