import type { ReadUnitsAfter } from '../../../../src/localization/parse/index/read/units-after.ts';
import { growBuild } from '../../../support/translation-work.ts';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { unitIdText } from '../../../../src/localization/unit-id-text.ts';
import type { ActionRequest } from '../../../../src/engine/define-action.ts';
import { createTargetOffers } from '../../../../src/localization/translation/judge/offer-targets.ts';
import type { TargetJudge } from '../../../../src/localization/translation/judge/target-judge.ts';
import { createUnitSource } from '../../../../src/localization/translation/judge/unit-source.ts';
import type { TranslationMemory } from '../../../../src/localization/memory/translation-memory.ts';
import { readTasks } from '../../../../src/localization/translation/translation-reports.ts';
import { updateAction } from '../../../../src/localization/translation/update-action.ts';
import {
  NO_PROVENANCE,
  type Finding,
} from '../../../../src/localization/translation/work/store/target-rows.ts';
import type {
  ReportedTask,
  TaskQuery,
} from '../../../../src/localization/translation/work/store/task-page.ts';
import { createStore } from '../../../../src/localization/translation/work/translation-worker.ts';
import { blake3OfText } from '../../../../src/platform/hashing/text-blake3.ts';
import { createSilentLogger } from '../../../../src/platform/logging/logging.ts';
import { callerInProcess } from '../../../support/caller-in-process.ts';
import { indexRelease, openTestIndex, unitIdOf, type ModelFile } from '../../../support/index-release.ts';
import { createTestEngine } from '../../../support/task-engine.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { partial } from '../../../support/partial.ts';

const SOURCES = ['おはよう', 'さようなら', 'はい'];
const CALLER: ActionRequest = {
  idempotencyKey: null,
  correlationId: 'c',
  caller: { tokenId: 'translator-1', allow: null },
};

const file = (...texts: readonly string[]): ModelFile => ({
  destination: 'a.json',
  leaves: [{ units: texts.map((text, at) => [`k${at}`, text] as const) }],
});

const unit = (at: number): string => unitIdText(unitIdOf('a.json', `k${at}`));
const result = (at: number, text = `T${at}`, source = SOURCES[at] ?? '') => ({
  unit_id: unit(at),
  source_text: source,
  translated_text: text,
});
const ALL = [result(0), result(1), result(2)];

const found = (origin: Finding['origin'], check: string, waivable: boolean): Finding => ({
  check,
  origin,
  severity: 'error',
  message: `found ${check}`,
  waivable,
  source_span: null,
  target_span: null,
});

/** A target with "BAD" has an error that nobody can waive, one with "HMM" an error that a reviewer can, "TERM" one of the Glossary. */
const JUDGE: TargetJudge = {
  judge: (texts) =>
    Promise.resolve({
      by: { key: 'rules', generation: 7 },
      judgements: texts.map(({ sourceText, targetText }) => ({
        findings: [
          ...(targetText.includes('BAD') ? [found('target', 'placeholders', false)] : []),
          ...(targetText.includes('HMM') ? [found('target', 'tags', true)] : []),
          ...(targetText.includes('TERM') ? [found('glossary', 'term_missing', false)] : []),
        ],
        qaIdentity: `gqa1_${sourceText}_${targetText}`,
      })),
    }),
};

type Proposals = Parameters<TranslationMemory['propose']>[0];

/** One task of three units, and the action on it. */
async function open(
  ports: {
    readonly propose?: TranslationMemory['propose'];
    readonly judge?: TargetJudge;
    /** The states of records by their target. */
    readonly known?: Readonly<Record<string, 'candidate' | 'trusted'>>;
  } = {},
) {
  const path = join(await temporaryDirectory(), 'translation.db');
  const calls = createStore({ path, targetLanguage: 'zh-Hans' });
  const index = openTestIndex();
  onTestFinished(() => {
    calls.close();
    index.close();
  });
  const indexed = (releaseId: string, ...texts: readonly string[]): void => {
    indexRelease(index, releaseId, [file(...texts)]);
  };
  const build = (releaseId: string, ...texts: readonly string[]): void => {
    indexed(releaseId, ...texts);
    const unitsAfter: ReadUnitsAfter = (query) => {
      const page = index.unitsAfter(query);
      const items = page.items.map((each) => ({ ...each, sourceDigest: blake3OfText(each.sourceText) }));
      return { ...page, items };
    };
    calls.finishBuild(growBuild(calls, index, { unitsAfter }));
    while (calls.cleanUp());
  };
  build('r1', ...SOURCES);
  const { engine, clock } = createTestEngine();
  const proposed: Proposals[number][] = [];
  const propose = (records: Proposals) => {
    proposed.push(...records);
    return Promise.resolve([]);
  };
  const rejected: Parameters<TranslationMemory['reject']>[0][] = [];
  const memory = partial<TranslationMemory>({
    propose: ports.propose ?? propose,
    known: (records) =>
      Promise.resolve(
        records.map(({ target_text: text }) => {
          const state = ports.known?.[text];
          return state === undefined ? null : { record_id: `tm_${text}`, state };
        }),
      ),
    reject: (request) => {
      rejected.push(request);
      return Promise.resolve({ ok: false, error: { code: 'unknown_record', message: 'gone' } } as const);
    },
  });
  const thread = callerInProcess(calls);
  const action = updateAction({
    engine,
    thread,
    judge: ports.judge ?? JUDGE,
    units: createUnitSource((query) => Promise.resolve(index.unitsAfter(query))),
    offers: createTargetOffers({
      memory,
      languages: () => ({ sourceLanguage: 'ja', targetLanguage: 'zh-Hans' }),
      logger: createSilentLogger(),
    }),
    clock,
  });
  const tasks = (): readonly ReportedTask[] => calls.tasks({ offset: 0, limit: 10 }).items;
  const [first] = tasks();
  const accept = async (body: object, request: ActionRequest = CALLER) =>
    await action.accept({ task_id: first?.task_id, ...body }, request);
  const update = async (body: object, request: ActionRequest = CALLER): Promise<Record<string, unknown>> =>
    (await accept(body, request)).task.result ?? {};
  const rows = (sql: string): Record<string, unknown>[] => {
    const database = new DatabaseSync(path, { readOnly: true });
    const all = database
      .prepare(sql)
      .all()
      .map((row) => ({ ...row }));
    database.close();
    return all;
  };
  const everything = () =>
    ['task', 'target', 'target_history', 'claim', 'hold', 'waiver', 'glossary_override', 'chunk'].map(
      (table) => rows(`SELECT * FROM ${table}`),
    );
  return {
    calls,
    build,
    indexed,
    engine,
    clock,
    proposed,
    rejected,
    accept,
    update,
    rows,
    everything,
    task: (): ReportedTask => tasks()[0]!,
    tasks,
    tasksBy: async (query: TaskQuery) => await readTasks(thread, query, new AbortController().signal),
    taskId: first!.task_id,
  };
}

const PROVENANCE = { reviewer: 'r', reason: 'ok', provenance: 'call', confirmed_unix_seconds: 1 };

describe('storing results', () => {
  it('stores all of them as `translated`, with their history, and proposes them to the memory', async () => {
    const world = await open();
    const done = await world.update({ status: 'translated', translation_results: ALL, reviewer: 'Ann' });
    expect(done).toMatchObject({
      written: 3,
      repeated: 0,
      task: { status: 'translated', unit_counts: { translated: 3 } },
    });
    expect(done['units']).toEqual(
      [0, 1, 2].map((at) => ({ unit_id: unit(at), revision: 1, state: 'translated' })),
    );
    expect(
      world.rows(
        'SELECT target_text, author_kind, token_id, reviewer, glossary_generation, task_id FROM target_history',
      ),
    ).toEqual(
      [0, 1, 2].map((at) => ({
        target_text: `T${at}`,
        author_kind: 'person',
        token_id: 'translator-1',
        reviewer: 'Ann',
        glossary_generation: 7,
        task_id: world.taskId,
      })),
    );
    expect(world.proposed).toMatchObject(
      SOURCES.map((source_text, at) => ({
        source_text,
        target_text: `T${at}`,
        context: {
          destination: 'a.json',
          field_path: `/k${at}`,
          ...(at === 0 ? {} : { previous: SOURCES[at - 1] }),
          ...(at === 2 ? {} : { next: SOURCES[at + 1] }),
        },
        provenance: { origin: 'task_update', task_id: world.taskId, unit_id: unit(at), release_id: 'r1' },
      })),
    );
  });

  it('keeps the remark of a task when it is handed in, and no other reason', async () => {
    const remark = 'remark: Ann: a stone or a gem?';
    const outcomes = [];
    for (const reason of [remark, 'too stiff']) {
      const world = await open();
      await world.update({ translation_results: ALL, reason });
      await world.update({ status: 'translated' });
      outcomes.push(world.task());
      await world.update({ translation_results: [], reason: '' });
      outcomes.push(world.task());
    }
    expect(outcomes).toMatchObject([
      { status: 'translated', reason: remark },
      { status: 'translated', reason: '' },
      { status: 'translated', reason: null },
      { status: 'translated', reason: '' },
    ]);
  });

  it('keeps work in progress, also with blocking findings, and then makes it `translated`', async () => {
    const world = await open();
    await world.update({ status: 'in_progress', translation_results: [result(0), result(1, 'BAD')] });
    expect(world.task()).toMatchObject({
      status: 'blocked',
      unit_counts: { draft: 1, blocked: 1, untranslated: 1 },
    });
    expect(world.proposed).toEqual([]);
    await world.update({ status: 'in_progress', translation_results: [result(1), result(2)] });
    expect(world.task()).toMatchObject({ status: 'in_progress', unit_counts: { draft: 3 } });
    await world.update({ status: 'translated' });
    expect(world.task()).toMatchObject({ status: 'translated', unit_counts: { translated: 3 } });
    // What was typed before is no translation: the memory learns what is handed in.
    expect(world.proposed).toMatchObject(
      SOURCES.map((source_text, at) => ({
        source_text,
        target_text: `T${at}`,
        author: { kind: 'person', tokenId: 'translator-1' },
        provenance: { origin: 'task_update', task_id: world.taskId, unit_id: unit(at) },
      })),
    );
  });

  it('proposes what was saved before also when the last line is handed in with the task', async () => {
    const world = await open();
    await world.update({ status: 'in_progress', translation_results: [result(0), result(1)] });
    await world.update({ status: 'translated', translation_results: [result(2)] });
    expect(world.proposed.map(({ target_text: text }) => text)).toEqual(['T0', 'T1', 'T2']);
  });

  it('proposes what files and programs bring at once', async () => {
    const world = await open();
    await world.update({ status: 'in_progress', provider: 'file', translation_results: [result(0)] });
    await world.update({ provider: 'agency', provider_run_id: 'r', translation_results: [result(1)] });
    expect(world.proposed.map(({ target_text: text }) => text)).toEqual(['T0', 'T1']);
  });

  it('rejects the candidates of targets that an undo takes back, and no others', async () => {
    const world = await open({ known: { T0: 'candidate', T1: 'trusted' } });
    const run = { provider: 'x', provider_run_id: 'run-1' };
    await world.update({ ...run, translation_results: [result(0), result(1)] });
    const before = world.proposed.length;
    await world.update({
      provider: 'undo',
      status: 'in_progress',
      reason: 'wrong model',
      translation_results: [result(0, ''), result(1, 'mine')],
    });
    expect(world.rejected).toEqual([
      { record_id: 'tm_T0', reviewer: 'undo', tokenId: 'translator-1', reason: 'wrong model' },
    ]);
    expect(world.proposed).toHaveLength(before);
  });

  it('takes back what a token or a run has stored, and restores what was there before', async () => {
    const world = await open();
    await world.update({ translation_results: [result(0, 'a'), result(1, 'b')] });
    await world.update({
      provider: 'x',
      provider_run_id: 'run-1',
      translation_results: [result(0, 'z'), result(2, 'z')],
    });
    const stored = (): unknown => world.rows('SELECT target_text, provider FROM target ORDER BY target_text');
    const undo = { args: ['undo_run=run-1'], status: 'in_progress' };
    const before = stored();
    expect(await world.update({ ...undo, args: [...undo.args, 'dry_run=true'] })).toMatchObject({
      written: 2,
    });
    expect(stored()).toEqual(before);
    expect(await world.update(undo)).toMatchObject({ written: 2 });
    expect(stored()).toEqual([
      { target_text: 'a', provider: 'undo' },
      { target_text: 'b', provider: null },
    ]);
    expect(await world.update(undo)).toMatchObject({ written: 0 });
    // What an undo has stored is not counted as something to undo.
    const ofToken = { offset: 0, limit: 10, undo_author: 'translator-1' };
    expect((await world.tasksBy(ofToken)).items[0]?.chosen_units).toBe(1);
    expect((await world.tasksBy({ ...ofToken, undo_since: 0 })).total).toBe(1);
    expect(await world.update({ ...undo, args: ['undo_author=translator-1', 'undo_since=0'] })).toMatchObject(
      {
        written: 2,
      },
    );
    expect(stored()).toEqual([]);
    await expect(world.update({ ...undo, translation_results: [result(0)] })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    await expect(world.update({ ...undo, args: ['undo_since=today'] })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  it('takes a long file back in several calls, and leaves what others have claimed', async () => {
    const world = await open();
    const texts = Array.from({ length: 502 }, (_, at) => `text ${at}`);
    world.build('r2', ...texts);
    const task_id = world.calls
      .tasks({ offset: 0, limit: 10 })
      .items.find(({ status }) => status !== 'superseded')?.task_id;
    const translation_results = texts.map((text, at) => result(at, 'z', text));
    const run = { provider: 'x', provider_run_id: 'run-1' };
    await world.update({ task_id, ...run, translation_results });
    const claim = { worker_id: 'ann', lease_seconds: 3600, args: [`expect=${unit(0)}:1`] };
    await world.update({ task_id, status: 'in_progress', ...claim });
    const chosen = async (): Promise<unknown> =>
      (await world.tasksBy({ offset: 0, limit: 10, undo_run: 'run-1' })).items.map(
        ({ chosen_units: units }) => units,
      );
    expect(await chosen()).toEqual([502]);
    const undo = { task_id, status: 'in_progress', args: ['undo_run=run-1'] };
    const first = await world.update(undo);
    expect(first).toMatchObject({ written: 500, undo_claimed: 1, undo_next: 500 });
    const second = { ...undo, args: [...undo.args, `undo_after=${String(first['undo_next'])}`] };
    expect(await world.update(second)).toMatchObject({ written: 1, undo_claimed: 0, undo_next: null });
    expect(await chosen()).toEqual([1]);
    expect(await world.update({ ...undo, worker_id: 'ann' })).toMatchObject({ written: 1, undo_claimed: 0 });
    expect(await chosen()).toEqual([]);
    // Nor is a target whose source has changed since.
    await world.update({ task_id, ...run, provider_run_id: 'run-2', translation_results, force: true });
    world.build('r3', ...texts.map((text) => `${text}!`));
    const ofRun = `SELECT count(*) AS targets FROM target WHERE provider_run_id = 'run-2'`;
    expect(world.rows(ofRun)).toEqual([{ targets: 502 }]);
    expect((await world.tasksBy({ offset: 0, limit: 10, undo_run: 'run-2' })).total).toBe(0);
    for (const args of [['undo_after=1'], ['undo_run=run-1', 'undo_after=x']]) {
      await expect(world.update({ ...undo, args })).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });

  it('is a success without an effect for the same run of a provider', async () => {
    const world = await open();
    const body = { provider: 'x', provider_run_id: 'run-1', translation_results: ALL };
    expect(await world.update(body)).toMatchObject({ written: 3, repeated: 0 });
    const before = world.rows('SELECT * FROM target_history');
    expect(await world.update(body)).toMatchObject({ written: 0, repeated: 3 });
    expect(world.rows('SELECT * FROM target_history')).toEqual(before);
    expect(await world.update({ ...body, provider_run_id: 'run-2' })).toMatchObject({ written: 3 });
  });

  it('keeps every target that was ever stored', async () => {
    const world = await open();
    for (const text of ['a', 'b', 'c']) await world.update({ translation_results: [result(0, text)] });
    expect(world.rows('SELECT target_text, revision FROM target_history')).toEqual([
      { target_text: 'a', revision: 1 },
      { target_text: 'b', revision: 2 },
      { target_text: 'c', revision: 3 },
    ]);
    const database = new DatabaseSync(String(world.rows('PRAGMA database_list')[0]?.['file']));
    expect(() => database.prepare('DELETE FROM target_history').run()).toThrow('append-only');
    expect(() => database.prepare(`UPDATE target_history SET target_text = ''`).run()).toThrow('append-only');
    database.close();
  });

  it('stores targets also when the memory does not answer, and says so', async () => {
    const world = await open({ propose: () => Promise.reject(new Error('closed')) });
    expect(await world.update({ status: 'translated', translation_results: ALL })).toMatchObject({
      written: 3,
      memory: 'unavailable',
    });
  });

  it('keeps control and zero-width characters as they were sent', async () => {
    const world = await open();
    const text = 'a\u0000b\u202ec\u200dd';
    await world.update({ translation_results: [result(0, text)] });
    const [lease] = [world.calls.tasks({ offset: 0, limit: 1 })];
    expect(lease.items[0]?.unit_counts).toMatchObject({ draft: 1 });
    expect(world.rows('SELECT target_text FROM target')).toEqual([{ target_text: text }]);
  });
});

describe('refused updates', () => {
  const cases: readonly (readonly [string, object, string])[] = [
    ['an unknown task', { task_id: 'tt_x', status: 'pending' }, 'unknown_translation_task'],
    [
      'another source text',
      { translation_results: [result(0), result(1, 'T', 'さようなら。')] },
      'source_mismatch',
    ],
    [
      'a source that differs in composition',
      { translation_results: [result(0, 'T', 'おはよう\u200b')] },
      'source_mismatch',
    ],
    [
      '`translated` with missing units',
      { status: 'translated', translation_results: [result(0)] },
      'units_missing',
    ],
    [
      '`translated` with a blocked target',
      { status: 'translated', translation_results: [...ALL.slice(1), result(0, 'BAD')] },
      'qa_blocked',
    ],
    [
      '`translated` with an error of the Glossary',
      { status: 'translated', translation_results: [...ALL.slice(1), result(0, 'TERM')] },
      'qa_blocked',
    ],
    [
      'an override of another diagnosis',
      {
        translation_results: [result(0, 'TERM')],
        glossary_override: { qa_identity: 'gqa1_old', ...PROVENANCE },
      },
      'override_stale',
    ],
    [
      'another revision',
      { translation_results: [result(0)], args: [`expect=${unit(0)}:3`] },
      'revision_changed',
    ],
    [
      'a unit of another task',
      { translation_results: [{ ...result(0), unit_id: unit(9) }] },
      'invalid_request',
    ],
    [
      'a text that is not a unit id',
      { translation_results: [{ ...result(0), unit_id: 'x' }] },
      'invalid_request',
    ],
    ['a unit that is named twice', { translation_results: [result(0), result(0)] }, 'invalid_request'],
    ['half of a surrogate pair', { translation_results: [result(0, '\ud83d')] }, 'invalid_request'],
    ['an unknown entry of args', { status: 'pending', args: ['dry_run=maybe'] }, 'invalid_request'],
    [
      'a revision that is not a number',
      { status: 'pending', args: [`expect=${unit(0)}:x`] },
      'invalid_request',
    ],
    [
      'a waiver without a reviewer',
      { translation_results: [result(0, 'HMM')], args: [`waive=${unit(0)}:tags`] },
      'invalid_request',
    ],
    [
      'a waiver of a finding that nobody can waive',
      {
        translation_results: [result(0, 'BAD')],
        args: [`waive=${unit(0)}:placeholders`],
        reviewer: 'r',
        reason: 'ok',
      },
      'invalid_request',
    ],
    ['a claim without an owner', { status: 'in_progress', lease_seconds: 60 }, 'invalid_request'],
    [
      'a blank override',
      {
        translation_results: [result(0)],
        glossary_override: { qa_identity: 'x', ...PROVENANCE, reason: ' ' },
      },
      'invalid_request',
    ],
    [
      'an override from the future',
      {
        translation_results: [result(0)],
        glossary_override: { qa_identity: 'x', ...PROVENANCE, confirmed_unix_seconds: 9_999_999_999 },
      },
      'invalid_request',
    ],
    ['`failed` without a reason', { status: 'failed' }, 'invalid_request'],
  ];

  it.each(cases)('%s changes nothing', async (_name, body, code) => {
    const world = await open();
    const before = world.everything();
    await expect(world.update(body)).rejects.toMatchObject({ code });
    expect(world.everything()).toEqual(before);
  });

  it('a status that does not follow changes nothing', async () => {
    const world = await open();
    await world.update({ status: 'skipped', reason: 'no text' });
    expect(world.task()).toMatchObject({ status: 'skipped', reason: 'no text' });
    for (const body of [{ status: 'translated' }, { translation_results: ALL }]) {
      await expect(world.update(body)).rejects.toMatchObject({ code: 'invalid_transition' });
    }
    await world.update({ status: 'pending' });
    expect(world.task()).toMatchObject({ status: 'pending', reason: null });
    await world.update({ status: 'failed', failure_reason: 'no budget' });
    expect(world.task()).toMatchObject({ status: 'failed', failure_reason: 'no budget' });
  });

  it('people continue a failed task, and programs are refused until someone opens it', async () => {
    const world = await open();
    const fail = async () => await world.update({ status: 'failed', failure_reason: 'no budget' });
    await fail();
    const program = { provider: 'x', provider_run_id: 'r', translation_results: [result(0)] };
    const refused = world.update(program);
    await expect(refused).rejects.toMatchObject({ code: 'invalid_transition' });
    await expect(refused).rejects.toThrow(/possible: pending, failed, skipped$/);
    await world.update({ provider_run_id: 'r' });
    expect(world.task()).toMatchObject({ status: 'failed', failure_reason: 'no budget' });
    await world.update({ translation_results: [result(0)], worker_id: 'ann' });
    expect(world.task()).toMatchObject({ status: 'in_progress', failure_reason: null });
    await fail();
    await world.update({ status: 'in_progress', translation_results: [result(1)] });
    await fail();
    await world.update({ status: 'skipped', reason: 'no text' });
    await world.update({ status: 'pending' });
    await fail();
    await world.update({ status: 'translated', translation_results: [result(2)], worker_id: 'ann' });
    expect(world.task()).toMatchObject({ status: 'translated', unit_counts: { translated: 3 } });
  });

  it('people continue a task that workers gave up', async () => {
    const world = await open();
    const request = { owner: 'w', leaseSeconds: 60, maxAttempts: 1, taskId: null, after: null };
    const { token = '' } = world.calls.claimChunk(request) ?? {};
    world.calls.endLease({ token, outcome: { kind: 'failed', reason: 'refused' } });
    expect(world.task()).toMatchObject({ status: 'failed', failure_reason: 'refused' });
    await world.update({ status: 'in_progress', worker_id: 'ann', lease_seconds: 60 });
    expect(world.task()).toMatchObject({ status: 'in_progress', failure_reason: 'refused' });
    await world.update({ status: 'translated', translation_results: ALL, worker_id: 'ann' });
    expect(world.task()).toMatchObject({ status: 'translated', failure_reason: null });
  });

  it('names the qa_identity of blocked units', async () => {
    const world = await open();
    const refused = world.update({
      status: 'translated',
      translation_results: [result(0, 'TERM'), ...ALL.slice(1)],
    });
    await expect(refused).rejects.toThrow(`${unit(0)} (gqa1_おはよう_TERM)`);
  });

  it('a waiver needs the right to review', async () => {
    const world = await open();
    const body = {
      translation_results: [result(0, 'HMM')],
      args: [`waive=${unit(0)}:tags`],
      reviewer: 'r',
      reason: 'ok',
    };
    const caller = { tokenId: 't', allow: ['translate'] as const };
    await expect(world.update(body, { ...CALLER, caller })).rejects.toMatchObject({ code: 'scope_missing' });
    await world.update({ translation_results: [result(0)] }, { ...CALLER, caller });
  });
});

describe('decisions about findings', () => {
  it('a waiver frees the unit, and only with exactly this target', async () => {
    const world = await open();
    const waive = { args: [`waive=${unit(0)}:tags`], reviewer: 'r', reason: 'as in the original' };
    await world.update({ translation_results: [result(0, 'HMM')], ...waive });
    expect(world.task().unit_counts).toEqual({ draft: 1, untranslated: 2 });
    await world.update({ translation_results: [result(0, 'HMM!')] });
    expect(world.task().unit_counts).toEqual({ blocked: 1, untranslated: 2 });
    await world.update({ translation_results: [result(0, 'HMM')] });
    expect(world.task().unit_counts).toEqual({ draft: 1, untranslated: 2 });
  });

  it('an override covers the Glossary, and no other check', async () => {
    const world = await open();
    const glossary_override = { qa_identity: 'gqa1_おはよう_TERM', ...PROVENANCE };
    await world.update({ translation_results: [result(0, 'TERM')], glossary_override });
    expect(world.task().unit_counts).toMatchObject({ draft: 1 });
    const both = { qa_identity: 'gqa1_おはよう_TERM BAD', ...PROVENANCE };
    await world.update({ translation_results: [result(0, 'TERM BAD')], glossary_override: both });
    expect(world.task().unit_counts).toMatchObject({ blocked: 1 });
  });
});

describe('tasks and the parse index', () => {
  const body = { translation_results: [result(0)] };

  it('asks to try again, and changes nothing, when the index has moved on', async () => {
    const world = await open();
    world.indexed('r2', 'new', ...SOURCES);
    const before = world.everything();
    await expect(world.update(body)).rejects.toMatchObject({
      code: 'backend_unavailable',
      message: expect.stringContaining('try again'),
      options: { retryAfter: 5 },
    });
    expect(world.everything()).toEqual(before);
    // An update without results reads no text, so it does not wait.
    await world.update({ status: 'skipped', reason: 'no text' });
  });

  it('asks to send again, and changes nothing, when the tasks are replaced while targets are judged', async () => {
    const world = await open({
      judge: {
        judge: async (...call) => {
          world.build('r2', 'new', ...SOURCES);
          before = world.everything();
          return await JUDGE.judge(...call);
        },
      },
    });
    let before: unknown;
    await expect(world.update(body)).rejects.toMatchObject({
      code: 'backend_unavailable',
      message: expect.stringContaining('send the update again'),
    });
    expect(world.everything()).toEqual(before);
    expect(world.tasks()[0]?.unit_counts).toEqual({ untranslated: 4 });
  });
});

describe('an update that is only tried', () => {
  it('says what would be stored and what was found, and changes nothing', async () => {
    const world = await open();
    const before = world.everything();
    const body = { status: 'in_progress', translation_results: [result(0), result(1, 'HMM')] };
    const tried = await world.update({ ...body, args: ['dry_run=true'] });
    expect(tried).toMatchObject({
      dry_run: true,
      written: 2,
      task: { status: 'blocked' },
      units: [
        { unit_id: unit(0), revision: 1, state: 'draft' },
        {
          unit_id: unit(1),
          state: 'blocked',
          findings: [
            { check: 'tags', origin: 'target', severity: 'error', message: 'found tags', waivable: true },
          ],
        },
      ],
    });
    expect(world.everything()).toEqual(before);
    expect(world.proposed).toEqual([]);
    const { dry_run: _, ...stored } = tried;
    expect(await world.update({ ...body, args: ['dry_run=false'] })).toEqual(stored);
  });

  it('is refused as the update itself would be', async () => {
    const world = await open();
    const args = ['dry_run=true'];
    await expect(world.update({ status: 'translated', args })).rejects.toMatchObject({
      code: 'units_missing',
    });
    const wrong = { translation_results: [result(0, 'T', 'another')], args };
    await expect(world.update(wrong)).rejects.toMatchObject({ code: 'source_mismatch' });
  });
});

describe('an empty target as work in progress', () => {
  it('takes the target back, and the history says who did it', async () => {
    const world = await open();
    await world.update({ status: 'translated', translation_results: ALL });
    const done = await world.update({
      status: 'in_progress',
      translation_results: [result(0, '')],
      args: [`expect=${unit(0)}:1`],
      reason: 'wrong file',
    });
    expect(done).toMatchObject({ units: [{ unit_id: unit(0), revision: 0, state: 'untranslated' }] });
    expect(world.proposed).toHaveLength(3);
    expect(world.task().unit_counts).toMatchObject({ untranslated: 1, translated: 2 });
    expect(world.rows('SELECT unit_id FROM target')).toHaveLength(2);
    expect(
      world.rows('SELECT revision, target_text, state, reason FROM target_history ORDER BY entry').at(-1),
    ).toEqual({ revision: 2, target_text: '', state: 'untranslated', reason: 'wrong file' });
    // A worker can take the unit again, and revisions continue.
    const request = { owner: 'w', leaseSeconds: 60, maxAttempts: 3, taskId: null, after: null };
    expect(world.calls.claimChunk(request)?.units.map(({ ordinal }) => ordinal)).toEqual([0]);
    expect(await world.update({ translation_results: [result(0)] })).toMatchObject({
      units: [{ revision: 3 }],
    });
  });

  it('does nothing for a unit without a target, and is refused as `translated`', async () => {
    const world = await open();
    const nothing = await world.update({ status: 'in_progress', translation_results: [result(0, '')] });
    expect(nothing).toMatchObject({ written: 0, repeated: 1 });
    expect(world.rows('SELECT * FROM target_history')).toEqual([]);
    const judge: TargetJudge = {
      judge: (texts) =>
        Promise.resolve({
          by: { key: 'rules', generation: 1 },
          judgements: texts.map(() => ({
            findings: [found('target', 'empty_target', false)],
            qaIdentity: 'q',
          })),
        }),
    };
    const other = await open({ judge });
    await expect(
      other.update({ status: 'translated', translation_results: [result(0, ''), result(1), result(2)] }),
    ).rejects.toMatchObject({ code: 'qa_blocked' });
  });
});

describe('several people at work', () => {
  it('a claim refuses the writes of others, and not those of its owner', async () => {
    const world = await open();
    const claim = {
      status: 'in_progress',
      worker_id: 'ann',
      lease_seconds: 3600,
      args: [`expect=${unit(0)}:0`],
    };
    await world.update(claim);
    for (const other of [{}, { worker_id: 'ben' }]) {
      await expect(world.update({ ...other, translation_results: [result(0)] })).rejects.toMatchObject({
        code: 'lease_held',
      });
    }
    await world.update({ translation_results: [result(1)] });
    await world.update({ worker_id: 'ann', translation_results: [result(0)] });
    await world.update({ worker_id: 'ben', translation_results: [result(0, 'by force')], force: true });
    expect(world.task().unit_counts).toMatchObject({ draft: 2 });
  });

  it.each([2 ** 53 - 1, 2n ** 63n - 1n])('a claim of %s seconds lasts a day', async (lease_seconds) => {
    const world = await open();
    const claim = { status: 'in_progress', worker_id: 'ann', args: [`expect=${unit(0)}:0`] };
    await world.update({ ...claim, lease_seconds });
    const lengths = world.rows('SELECT expires_at - updated_at AS seconds FROM claim, task');
    expect(lengths).toEqual([{ seconds: 86_400 }]);
  });

  it('a lease of a worker refuses programs and the status, but a person wins', async () => {
    const world = await open();
    const path = String(world.rows('PRAGMA database_list')[0]?.['file']);
    const database = new DatabaseSync(path);
    database.exec(
      `UPDATE chunk SET state = 'leased', lease_owner = 'w', lease_token = 't', lease_expires_at = 9999999999`,
    );
    database.close();
    await expect(world.update({ provider: 'x', translation_results: [result(0)] })).rejects.toMatchObject({
      code: 'lease_held',
    });
    await expect(world.update({ status: 'skipped', reason: 'x' })).rejects.toMatchObject({
      code: 'lease_held',
    });
    await world.update({ translation_results: [result(0)] });
    // A file is the work of a person, too.
    await world.update({ provider: 'file', provider_run_id: 'file:1', translation_results: [result(1)] });
    expect(world.rows('SELECT author_kind, provider_run_id FROM target ORDER BY author_kind')).toEqual([
      { author_kind: 'import', provider_run_id: 'file:1' },
      { author_kind: 'person', provider_run_id: null },
    ]);
    await world.update({ status: 'skipped', reason: 'x', force: true });
    expect(world.task()).toMatchObject({ status: 'skipped', lease_owner: null });
  });

  it('a write whose `expect` is current is made, and one that was overtaken is refused', async () => {
    const world = await open();
    await world.update({ translation_results: [result(0)], args: [`expect=${unit(0)}:0`] });
    await world.update({ translation_results: [result(0, 'mine')], args: [`expect=${unit(0)}:1`] });
    const late = { translation_results: [result(0, 'yours')], args: [`expect=${unit(0)}:1`] };
    await expect(world.update(late)).rejects.toMatchObject({ code: 'revision_changed' });
  });

  it('a claim that names no unit is reported as ignored', async () => {
    const world = await open();
    const claim = { status: 'in_progress', worker_id: 'ann', lease_seconds: 60 };
    expect((await world.accept(claim)).ignoredFields).toEqual(['lease_seconds']);
    const args = [`hold=${unit(0)}`];
    expect((await world.accept({ ...claim, args })).ignoredFields).toEqual([]);
    expect(world.rows('SELECT owner FROM claim')).toEqual([{ owner: 'ann' }]);
  });

  it('a hold refuses the results of programs, and not those of people', async () => {
    const world = await open();
    const program = { provider: 'x', provider_run_id: 'r', translation_results: [result(1)] };
    await world.update({ status: 'in_progress', args: [`hold=${unit(1)}`], reviewer: 'ann' });
    const refused = world.update(program);
    await expect(refused).rejects.toMatchObject({ code: 'lease_held' });
    await expect(refused).rejects.toThrow(/^ann put the unit .* on hold; leave it out, or send force$/);
    expect(world.task().unit_counts).toEqual({ untranslated: 3 });
    await world.update({ ...program, translation_results: [result(0)] });
    await world.update({ translation_results: [result(1)] });
    await world.update({ ...program, force: true, provider_run_id: 's' });
    expect(world.task().unit_counts).toMatchObject({ draft: 2 });
  });

  it('a hold keeps a unit from workers', async () => {
    const world = await open();
    await world.update({ status: 'in_progress', args: [`hold=${unit(1)}`], reason: 'unclear' });
    const request = { owner: 'w', leaseSeconds: 60, maxAttempts: 3, taskId: null, after: null };
    const lease = world.calls.claimChunk(request);
    expect(lease?.units.map(({ ordinal }) => ordinal)).toEqual([0, 2]);
    expect(world.calls.claimChunk(request)).toBeNull();
    const token = lease?.token ?? '';
    expect(world.calls.heartbeat({ token, leaseSeconds: 60 })).toBe(true);
    expect(world.calls.storeResults({ token: 'other', results: [], provenance: NO_PROVENANCE }).isHeld).toBe(
      false,
    );
    expect(world.calls.endLease({ token, outcome: { kind: 'failed', reason: 'refused' } })).toBe(true);
    expect(world.calls.endLease({ token, outcome: { kind: 'done' } })).toBe(false);
    expect(world.calls.reopenChunks(world.taskId)).toBe(1);
    expect(world.rows('SELECT reason FROM hold')).toEqual([{ reason: 'unclear' }]);
  });
});

describe('an update of a superseded task', () => {
  it('applies to its successor where the text is equal, under the new id of the unit, and says so', async () => {
    const world = await open();
    world.build('r2', 'new', ...SOURCES);
    const done = await world.update({ status: 'in_progress', translation_results: ALL });
    const [successor] = world.tasks();
    expect(done).toMatchObject({
      written: 3,
      applied_to: [successor?.task_id],
      task: { status: 'superseded' },
    });
    expect((done['units'] as { unit_id: string }[]).map(({ unit_id }) => unit_id)).toEqual([
      unit(1),
      unit(2),
      unit(3),
    ]);
    expect(successor?.unit_counts).toEqual({ draft: 3, untranslated: 1 });
  });

  it('is refused where the text changed, or when it is a status', async () => {
    const world = await open();
    world.build('r2', 'changed', ...SOURCES.slice(1));
    await expect(world.update({ translation_results: [result(0)] })).rejects.toMatchObject({
      code: 'source_mismatch',
    });
    await expect(world.update({ status: 'pending' })).rejects.toMatchObject({ code: 'invalid_transition' });
  });
});
