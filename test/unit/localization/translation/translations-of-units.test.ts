import { describe, expect, it } from 'vitest';
import { callerBy } from '../../../../src/platform/threads/caller.ts';
import {
  UnitHistorySchema,
  UnitTranslationSchema,
} from '../../../../src/contract/reports/unit-translation.ts';
import { unitIdText } from '../../../../src/localization/unit-id-text.ts';
import type { UnitTranslation } from '../../../../src/localization/parse/index/read/unit-translations.ts';
import { readTranslations } from '../../../../src/localization/translation/answer-translations.ts';
import {
  NO_PROVENANCE,
  type Finding,
} from '../../../../src/localization/translation/work/store/target-rows.ts';
import type { TaskUpdate } from '../../../../src/localization/translation/work/store/task-update.ts';
import { UNAVAILABLE } from '../../../../src/localization/translation/work/translation-failure.ts';
import { ThreadError } from '../../../../src/platform/threads/thread.ts';
import { indexRelease, sha256, unitIdOf, type ModelFile } from '../../../support/index-release.ts';
import { buildTasks, openTestWork, resultsOf, type TestWork } from '../../../support/translation-work.ts';

const SOURCES = ['おはよう', 'さようなら', 'はい'];

const file = (...texts: readonly string[]): ModelFile => ({
  destination: 'a.json',
  leaves: [{ units: texts.map((text, at) => [`k${at}`, text] as const) }],
});

const idOf = (at: number): Buffer => unitIdOf('a.json', `k${at}`);

function open(...texts: readonly string[]): TestWork {
  const work = openTestWork();
  indexRelease(work.index, 'r1', [file(...texts)]);
  buildTasks(work, 10);
  return work;
}

/** A worker translates everything. */
function translate(work: TestWork, sources: readonly string[]): void {
  const lease = work
    .at(20)
    .claimChunk({ owner: 'w1', leaseSeconds: 50, maxAttempts: 3, taskId: null, after: null })!;
  const results = resultsOf(
    lease,
    (at) => `T${at}`,
    (at) => sources[at] ?? '',
  );
  work.at(21).storeResults({
    token: lease.token,
    results: results,
    provenance: { ...NO_PROVENANCE, taskId: lease.taskId, releaseId: 'r1' },
  });
}

const finding = (check: string, origin: Finding['origin']): Finding => ({
  check,
  origin,
  severity: 'error',
  message: `found ${check}`,
  waivable: origin === 'target',
  source_span: { start: 0, end: 2 },
  target_span: null,
});

const UPDATE: Omit<TaskUpdate, 'taskId'> = {
  status: 'in_progress',
  results: [],
  failureReason: null,
  providerRunId: null,
  provider: null,
  judgedFor: null,
  override: null,
  workerId: null,
  leaseSeconds: null,
  reviewer: 'Mika',
  reason: 'names keep their kana',
  force: true,
  tokenId: 'token-1',
  expect: [],
  waive: [],
  hold: [],
  isTrial: false,
};

/** A person stores a target of the first unit with two blocking findings. */
function type(work: TestWork, update: Partial<TaskUpdate> = {}): void {
  const done = work.at(60).applyUpdate({
    ...UPDATE,
    taskId: 'tt_id000001',
    results: [
      {
        unitId: idOf(0),
        sourceText: SOURCES[0] ?? '',
        sourceDigest: sha256(SOURCES[0] ?? ''),
        text: '早上好',
        pointer: '',
        findings: [finding('kana_residue', 'target'), finding('term_missing', 'glossary')],
        qaIdentity: 'gqa1_x',
        judgedBy: { key: 'rules', generation: 7 },
      },
    ],
    ...update,
  });
  if (done.isRefused) throw new Error(done.detail);
}

const NAMED = { unitId: idOf(0), pointer: '' };

const NEXT_RESULT = {
  unitId: idOf(0),
  sourceText: SOURCES[0] ?? '',
  sourceDigest: sha256(SOURCES[0] ?? ''),
  text: '早',
  pointer: '',
  findings: [finding('kana_residue', 'target')],
  qaIdentity: null,
  judgedBy: { key: 'rules', generation: 7 },
};

describe('translations and their history', () => {
  /** Reads all units of the release that the index shows. */
  function read(work: TestWork, { now = 100, maxBytes = 1_000_000, withHistory = false } = {}) {
    const page = work.index.textUnits({ offset: 0, limit: 1000 });
    return work.at(now).translations({
      releaseId: page.release_id,
      generation: page.generation,
      units: page.items.map((unit) => ({ unitId: unit.unit_id, sourceDigest: unit.source_digest })),
      withHistory,
      maxBytes,
    });
  }

  describe('the translations of units', () => {
    it('are untranslated with revision 0 before there is a target', () => {
      const work = open(...SOURCES);
      const { isBuilt, targetLanguage, items, history } = read(work);
      expect({ isBuilt, targetLanguage, history }).toEqual({
        isBuilt: true,
        targetLanguage: 'zh-Hans',
        history: null,
      });
      expect(items).toHaveLength(3);
      expect(items[0]).toEqual({
        task_id: 'tt_id000001',
        state: 'untranslated',
        revision: 0,
        target_text: null,
        previous_source: null,
        previous_target: null,
        is_cut: false,
        carried_by: null,
        author: null,
        findings: [],
        qa_identity: null,
        glossary_override: null,
        waivers: [],
        hold: null,
        returned: null,
        propagated_from: null,
        claim: null,
        lease: null,
        updated_at: null,
      } satisfies UnitTranslation);
    });

    it('tell who has returned a target, until it is changed', () => {
      const work = open(...SOURCES);
      translate(work, SOURCES);
      expect(read(work).items.map(({ returned }) => returned)).toEqual([null, null, null]);
      work.database
        .prepare(`INSERT INTO target_history (unit_id, target_language, revision, target_text, state, source_text,
      source_digest, author_kind, reviewer, reviewer_token_id, reason, at) SELECT unit_id, target_language, revision,
      target_text, state, source_text, source_digest, author_kind, 'Rin', 'rin', 'keep no kana', 50
      FROM target WHERE target_text = 'T1'`)
        .run();
      work.database.prepare(`UPDATE target SET entry = last_insert_rowid() WHERE target_text = 'T1'`).run();
      const returned = { reviewer: 'Rin', reason: 'keep no kana', at: 50 };
      expect(read(work).items.map((each) => each.returned)).toEqual([null, returned, null]);
      work.database.prepare(`UPDATE target SET state = 'proofread' WHERE target_text = 'T1'`).run();
      expect(read(work).items.map((each) => each.returned)).toEqual([null, null, null]);
    });

    it('have the target of a worker and its lease until that expires', () => {
      const work = open(...SOURCES);
      translate(work, SOURCES);
      const { items } = read(work, { now: 69 });
      expect(items).toMatchObject(
        ['T0', 'T1', 'T2'].map((text) => ({
          state: 'draft',
          revision: 1,
          target_text: text,
          author: { kind: 'machine', token_id: null, provider: 'fixture', provider_run_id: 'run-1' },
          lease: { owner: 'w1', expires_at: 70 },
          updated_at: 21,
        })),
      );
      expect(read(work, { now: 70 }).items[0]?.lease).toBeNull();
      expect(UnitTranslationSchema.strict().array().parse(items)).toEqual(items);
    });

    it('have what people decided about a unit', () => {
      const work = open(...SOURCES);
      type(work, {
        workerId: 'mika',
        leaseSeconds: 30,
        hold: [NAMED],
        waive: [{ ...NAMED, check: 'kana_residue' }],
        override: {
          qaIdentity: 'gqa1_x',
          reviewer: 'Mika',
          reason: 'a pun',
          provenance: 'chat',
          confirmedAt: 50,
        },
      });
      const [unit, other] = read(work, { now: 89 }).items;
      expect(unit).toMatchObject({
        state: 'draft',
        author: { kind: 'person', token_id: 'token-1', provider: null },
        findings: [{ check: 'kana_residue', source_span: { start: 0, end: 2 } }, { check: 'term_missing' }],
        qa_identity: 'gqa1_x',
        glossary_override: { reviewer: 'Mika', reason: 'a pun', provenance: 'chat', confirmed_at: 50 },
        waivers: [{ check: 'kana_residue', reviewer: 'Mika', token_id: 'token-1', at: 60 }],
        hold: { reviewer: 'Mika', reason: 'names keep their kana', at: 60 },
        claim: { owner: 'mika', expires_at: 90 },
      });
      expect(UnitTranslationSchema.strict().parse(unit)).toEqual(unit);
      expect(other).toMatchObject({ state: 'untranslated', hold: null, claim: null });
      expect(read(work, { now: 90 }).items[0]?.claim).toBeNull();
      type(work, { results: [{ ...NEXT_RESULT }], hold: [] });
      expect(read(work).items[0]).toMatchObject({ state: 'blocked', waivers: [] });
    });

    it('are stale with the texts before, also while the tasks of a release are not built yet', () => {
      const work = open(...SOURCES);
      translate(work, SOURCES);
      indexRelease(work.index, 'r2', [file(SOURCES[0] ?? '', 'さらば', SOURCES[2] ?? '')]);
      const before = read(work);
      expect(before.isBuilt).toBe(false);
      const stale = {
        state: 'stale',
        target_text: null,
        previous_source: 'さようなら',
        previous_target: 'T1',
      };
      expect(before.items).toMatchObject([
        { task_id: null, state: 'draft', target_text: 'T0', carried_by: null, lease: null },
        { ...stale, revision: 1 },
        { state: 'draft' },
      ]);
      buildTasks(work, 30);
      const after = read(work);
      expect(after.isBuilt).toBe(true);
      expect(after.items).toMatchObject([
        { task_id: 'tt_id000003', state: 'draft', carried_by: 'same' },
        { ...stale, carried_by: 'changed', revision: 2 },
        { carried_by: 'same' },
      ]);
    });

    it('end when their bytes run out, and begin with one unit however long it is', () => {
      const work = open(...SOURCES);
      translate(work, SOURCES);
      const size = JSON.stringify(read(work).items[0]).length;
      expect(read(work, { maxBytes: 2 * size }).items).toHaveLength(2);
      expect(read(work, { maxBytes: 2 * size - 1 }).items).toHaveLength(1);
      expect(read(work, { maxBytes: 1 }).items).toHaveLength(1);
    });

    it('are cut where a text is too long for a report', () => {
      const work = open(...SOURCES);
      type(work, { results: [{ ...NEXT_RESULT, text: `${'字'.repeat(262_143)}😀` }] });
      const [unit] = read(work, { withHistory: true }).items;
      expect(unit?.is_cut).toBe(true);
      expect(unit?.target_text).toBe(`${'字'.repeat(262_143)}\uFFFD`);
    });
  });

  describe('the history of a unit', () => {
    it('has every target with its author, newest last', () => {
      const work = open(...SOURCES);
      translate(work, SOURCES);
      type(work);
      const { history } = read(work, { withHistory: true });
      expect(history).toMatchObject({
        is_cut: false,
        items: [
          {
            revision: 1,
            target_text: 'T0',
            source_text: 'おはよう',
            state: 'draft',
            author: { kind: 'machine' },
            reviewer: null,
            reviewer_token_id: null,
            at: 21,
          },
          {
            revision: 2,
            target_text: '早上好',
            state: 'blocked',
            author: { kind: 'person', token_id: 'token-1' },
            reviewer: 'Mika',
            reviewer_token_id: null,
            glossary_generation: 7,
            task_id: 'tt_id000001',
            release_id: 'r1',
            at: 60,
          },
        ],
      });
      expect(UnitHistorySchema.strict().parse(history)).toEqual(history);
    });

    it('names the tokens of the author and of the reviewer', () => {
      const work = open(...SOURCES);
      translate(work, SOURCES);
      work.database
        .prepare(`INSERT INTO target_history (entry_before, unit_id, target_language, revision, target_text, state,
      source_text, source_digest, author_kind, token_id, reviewer, reviewer_token_id, at)
      SELECT entry, unit_id, target_language, 2, target_text, 'proofread', source_text, source_digest, 'person', 'ann',
      'Rin', 'rin-2', 60 FROM target_history WHERE revision = 1`)
        .run();
      work.database
        .prepare(`UPDATE target SET entry = (SELECT max(entry) FROM target_history
      WHERE target_history.unit_id = target.unit_id)`)
        .run();
      const { history } = read(work, { withHistory: true });
      expect(history?.items.at(-1)).toMatchObject({
        author: { token_id: 'ann' },
        reviewer: 'Rin',
        reviewer_token_id: 'rin-2',
      });
    });

    it('has the newest 100 entries, and says that there are more', () => {
      const work = open(...SOURCES);
      for (let at = 1; at <= 101; at += 1) type(work, { results: [{ ...NEXT_RESULT, text: `v${at}` }] });
      const { history } = read(work, { withHistory: true });
      expect(history?.items).toHaveLength(100);
      expect(history?.is_cut).toBe(true);
      expect(history?.items[0]).toMatchObject({ target_text: 'v2', revision: 2 });
      expect(history?.items.at(-1)).toMatchObject({ target_text: 'v101', revision: 101 });
    });

    it('is bounded in bytes, too', () => {
      const work = open(...SOURCES);
      for (let at = 1; at <= 9; at += 1) {
        type(work, { results: [{ ...NEXT_RESULT, text: String(at) + 'x'.repeat(100_000) }] });
      }
      const { history } = read(work, { withHistory: true });
      expect(JSON.stringify(history).length).toBeLessThan(512 * 1024 + 1000);
      expect(history?.items.map(({ revision }) => revision)).toEqual([3, 4, 5, 6, 7, 8, 9]);
      expect([history?.is_cut, history?.items[0]?.is_cut]).toEqual([true, true]);
      expect(history?.items[0]?.target_text).toHaveLength(65_536);
    });

    it('is that of the first unit', () => {
      const work = open(...SOURCES);
      translate(work, SOURCES);
      const unit = { unitId: unitIdText(idOf(2)), sourceDigest: sha256('はい').toString('hex') };
      const request = { releaseId: 'r1', generation: 0, units: [unit], withHistory: true, maxBytes: 1 };
      expect(work.at(30).translations(request).history?.items).toMatchObject([{ target_text: 'T2' }]);
    });
  });
});

const REQUEST = { releaseId: 'r1', generation: 1, units: [], withHistory: false, maxBytes: 1 };
const NEVER = new AbortController().signal;

type Answer = () => Promise<unknown>;

describe('the translations of a page', () => {
  const read = async (answer: Answer, { signal = NEVER, waitMs = 60_000 } = {}): Promise<unknown> =>
    await readTranslations(callerBy(answer), 'ja', REQUEST, signal, waitMs);

  it('are those of the thread, with the source language', async () => {
    expect(await read(() => Promise.resolve({ items: [] }))).toEqual({ items: [], sourceLanguage: 'ja' });
  });

  it.each([
    ['the file', Object.assign(new Error('it is damaged'), { code: UNAVAILABLE }), 'it is damaged'],
    ['the thread', new ThreadError('it has ended'), 'it has ended'],
  ])('are unavailable with the failure of %s', async (_, error, message) => {
    expect(await read(() => Promise.reject(error))).toEqual({
      unavailable: `translation.db cannot be used: ${message}`,
    });
  });

  it('are unavailable while the thread is busy for too long', async () => {
    expect(await read(() => new Promise(() => undefined), { waitMs: 1 })).toEqual({
      unavailable: 'translation.db is busy, for example with the tasks of a release; try again',
    });
  });

  it('fail with an unexpected error, and with the reason of the caller', async () => {
    await expect(read(() => Promise.reject(new TypeError('a bug')))).rejects.toThrow('a bug');
    const gone = AbortSignal.abort(new Error('the caller has left'));
    await expect(read(() => Promise.reject(new ThreadError('x')), { signal: gone })).rejects.toThrow(
      'the caller has left',
    );
  });
});
