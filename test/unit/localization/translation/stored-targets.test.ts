import { describe, expect, it } from 'vitest';
import { followMemory } from '../../../../src/localization/translation/requalify/requalification.ts';
import { entriesOf } from '../../../../src/localization/translation/work/store/target-history.ts';
import { NO_PROVENANCE } from '../../../../src/localization/translation/work/store/target-rows.ts';
import {
  getTarget,
  putTarget,
  removeTarget,
  setTargetState,
  takeTargetBack,
  type NewTarget,
} from '../../../../src/localization/translation/work/store/target-store.ts';
import { openWork, type Work } from '../../../../src/localization/translation/work/store/work.ts';
import type { Database } from '../../../../src/engine/database/sqlite-database.ts';
import type { MemoryRecord } from '../../../../src/domain/memory/memory-record.ts';
import type { TranslationMemory } from '../../../../src/localization/memory/translation-memory.ts';
import { blake3OfText } from '../../../../src/platform/hashing/text-blake3.ts';
import { indexRelease, sha256, unitIdOf } from '../../../support/index-release.ts';
import { EMPTY_UPDATE, blockingFinding, openTranslatedTexts } from '../../../support/translated-texts.ts';
import { buildTasks, openTestWork, rowsOf } from '../../../support/translation-work.ts';
import { partial } from '../../../support/partial.ts';

const UNIT = unitIdOf('a.json', 'k');
const TARGET: NewTarget = {
  unitId: UNIT,
  text: '是',
  state: 'translated',
  stateBefore: null,
  sourceText: 'はい',
  sourceDigest: sha256('はい'),
  authorKind: 'person',
  tokenId: 't',
  provider: null,
  providerRunId: null,
  findings: [],
  qaIdentity: null,
  propagatedFrom: null,
  updatedAt: 1,
};

/** The work in an open database; time stands still. */
function workOf(database: Database): Work {
  return openWork(database, { targetLanguage: 'zh-Hans', createId: () => 'id', now: () => 2 });
}

describe('the revisions of the targets of a unit', () => {
  it('continue after a target whose state had changed was removed', () => {
    const { database } = openTestWork();
    const work = workOf(database);
    putTarget(work, TARGET, NO_PROVENANCE);
    setTargetState(work, UNIT, 'stale', 'translated');
    expect(getTarget(work, UNIT)?.revision).toBe(2);
    removeTarget(work, UNIT);
    removeTarget(work, UNIT);
    putTarget(work, TARGET, NO_PROVENANCE);
    expect(getTarget(work, UNIT)?.revision).toBe(3);
    removeTarget(work, UNIT);
    expect(rowsOf(database, 'SELECT revision, state FROM target_history ORDER BY entry')).toEqual([
      { revision: 1, state: 'translated' },
      { revision: 2, state: 'stale' },
      { revision: 3, state: 'translated' },
    ]);
  });

  it('keeps the history of a unit in one chain, also after its target was taken back and removed', () => {
    const { database } = openTestWork();
    const work = workOf(database);
    const other = { ...TARGET, unitId: unitIdOf('a.json', 'other') };
    for (const text of ['是', '是的']) {
      putTarget(work, { ...TARGET, text }, NO_PROVENANCE);
      putTarget(work, { ...other, text }, NO_PROVENANCE);
    }
    takeTargetBack(work, { ...TARGET, text: '' }, NO_PROVENANCE);
    putTarget(work, { ...TARGET, text: '对' }, NO_PROVENANCE);
    removeTarget(work, UNIT);
    expect([...entriesOf(work, UNIT)].map((row) => [row['revision'], row['target_text']])).toEqual([
      [4, '对'],
      [3, ''],
      [2, '是的'],
      [1, '是'],
    ]);
    expect([...entriesOf(work, other.unitId)].map((row) => row['revision'])).toEqual([2, 1]);
    expect([...entriesOf(work, unitIdOf('a.json', 'never'))]).toEqual([]);
  });
});

describe('a refused update', () => {
  it('leaves nothing behind that a later call writes', () => {
    const work = openTestWork();
    indexRelease(work.index, 'r1', [{ destination: 'a.json', leaves: [{ units: [['k', 'はい']] }] }]);
    buildTasks(work, 1);
    const tasks = () => rowsOf(work.database, 'SELECT * FROM task');
    const before = tasks();
    const refused = work.at(2).applyUpdate({
      ...EMPTY_UPDATE,
      taskId: String(before[0]?.['task_id']),
      status: 'translated',
      results: [
        {
          unitId: unitIdOf('a.json', 'k'),
          sourceText: 'はい',
          sourceDigest: sha256('はい'),
          text: '是',
          pointer: '/translation_results/0',
          findings: [blockingFinding('tags')],
          qaIdentity: null,
          judgedBy: null,
        },
      ],
    });
    expect(refused).toMatchObject({ code: 'qa_blocked' });
    work.at(3).sweepLeases();
    expect(tasks()).toEqual(before);
  });
});

const FILE = 'a.json';

type Record = Pick<MemoryRecord, 'record_id' | 'state' | 'source_text' | 'target_text' | 'superseded_by'>;

/** A memory in which the wording 老师 of 先生 has lost against 师傅. */
function records(changes: Partial<Record> = {}): readonly Record[] {
  const shared = { source_text: '先生', superseded_by: null };
  return [
    { ...shared, record_id: 'tm_old', state: 'superseded', target_text: '老师', superseded_by: 'tm_new' },
    { ...shared, record_id: 'tm_new', state: 'trusted', target_text: '师傅', ...changes },
  ];
}

/** Targets of the memory, one for each key; the key says its state. */
async function open(texts: { readonly [key: string]: string }) {
  const world = await openTranslatedTexts();
  world.build('r1', { [FILE]: Object.fromEntries(Object.keys(texts).map((key) => [key, '先生'])) });
  const digest = Buffer.from(blake3OfText('先生')).toString('hex');
  for (const [key, text] of Object.entries(texts)) {
    world.type(FILE, key, text);
    const id = unitIdOf(FILE, key).toString('hex');
    world.run(`UPDATE target SET author_kind = 'memory', state = '${key.split(' ')[0]}', source_digest = x'${digest}'
      WHERE unit_id = x'${id}'`);
  }
  return {
    ...world,
    follow: async (changes: Partial<Record> = {}) => {
      const found = new Map(records(changes).map((each) => [each.record_id, each as MemoryRecord]));
      const record: TranslationMemory['record'] = (id) => Promise.resolve(found.get(id) ?? null);
      return await followMemory(
        world.thread,
        partial<TranslationMemory>({ record }),
        ['tm_old', 'tm_unknown', 'tm_new'],
        new AbortController().signal,
      );
    },
    shown: (key: string) => {
      const target = world.target(FILE, key);
      const found = JSON.parse(target?.findings ?? '[]') as { check: string; message: string }[];
      return [target?.target_text, target?.state, found.map(({ message }) => message)];
    },
  };
}

describe('a wording that another record has replaced', () => {
  it('is marked where the memory gave it and nobody has reviewed it', async () => {
    const world = await open({
      draft: '老师',
      translated: '老师',
      proofread: '老师',
      blocked: '老师',
      'draft other': '先生',
    });
    const message = 'the Translation Memory has "师傅" for this text now';
    expect(await world.follow()).toBe(3);
    expect(world.shown('draft')).toEqual(['老师', 'draft', [message]]);
    expect(world.shown('translated')).toEqual(['老师', 'draft', [message]]);
    expect(world.shown('blocked')).toEqual(['老师', 'blocked', [message]]);
    expect(world.shown('proofread')).toEqual(['老师', 'proofread', []]);
    expect(world.shown('draft other')).toEqual(['先生', 'draft', []]);
    const reasons = world.rows('SELECT reason FROM target_history WHERE reason IS NOT NULL');
    expect(reasons).toHaveLength(3);
    expect(reasons[0]).toEqual({ reason: 'the Translation Memory replaced tm_old by tm_new' });
    expect(await world.follow()).toBe(0);
    expect(await world.follow({ target_text: '导师' })).toBe(3);
    expect(world.shown('draft')[2]).toEqual(['the Translation Memory has "导师" for this text now']);
  });

  it('stays with people, and while the other record says the same or is not trusted', async () => {
    const world = await open({ draft: '老师' });
    expect(await world.follow({ target_text: '老师' })).toBe(0);
    expect(await world.follow({ state: 'superseded' })).toBe(0);
    world.run(`UPDATE target SET author_kind = 'person'`);
    expect(await world.follow()).toBe(0);
  });

  it('is marked in each part of many targets', async () => {
    const keys = Array.from({ length: 450 }, (_, at) => `draft ${at}`);
    const world = await open(Object.fromEntries(keys.map((key) => [key, '老师'])));
    expect(await world.follow()).toBe(450);
  });

  it('keeps its mark when the target is judged again', async () => {
    const world = await open({ draft: '老师' });
    await world.follow();
    const [task] = world.rows('SELECT task_seq, build_id FROM task');
    const { generation } = world.index.status();
    const revision = world.target(FILE, 'draft')?.revision ?? 0;
    world.calls.storeRequalified({
      builtFor: { releaseId: 'r1', generation },
      taskSeq: Number(task?.['task_seq']),
      wasProofread: false,
      resets: 0,
      upTo: null,
      by: { key: 'k', generation: 1 },
      items: [
        {
          unitId: unitIdOf(FILE, 'draft'),
          revision,
          findings: [{ ...blockingFinding('numbers'), severity: 'warning' }],
          qaIdentity: 'gqa1_x',
        },
      ],
    });
    expect(world.shown('draft')[2]).toEqual([
      'found numbers',
      'the Translation Memory has "师傅" for this text now',
    ]);
  });
});
