import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { expectedOutcomes } from '../../../../src/domain/translation/expected-outcomes.ts';
import { noOutcomes } from '../../../../src/domain/translation/publish-outcome.ts';
import { createFreezer } from '../../../../src/localization/localized/freeze/freezer.ts';
import {
  blockersOf,
  requirePublishable,
  type FrozenRelease,
} from '../../../../src/localization/localized/freeze/frozen-release.ts';
import type { TaskContext } from '../../../../src/engine/tasks/task.ts';
import { fileOf, sampleUnit } from '../../../support/exchange-units.ts';
import { editsOf, EVERYTHING, openFreezeWorld, type FreezeWorld } from '../../../support/freeze-world.ts';
import { REVIEW_SOURCES, reviewUnit } from '../../../support/review-world.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** What a freeze uses of the context of its task. */
const CONTEXT = { signal: new AbortController().signal, progress: () => undefined } as unknown as TaskContext;

const accept = async ({ world }: FreezeWorld, destination = 'a.json'): Promise<void> => {
  await world.review({ status: 'proofread' }, { destination });
};

async function writeFileOf(
  { world }: FreezeWorld,
  units: readonly (readonly [destination: string, at: number, target: string])[],
): Promise<void> {
  const records = units.map(([destination, at, target]) =>
    sampleUnit({
      unit_id: reviewUnit(destination, at),
      locator: { destination, archive_entry: null, path_id: null, field_path: `/k${at}` },
      source_text: REVIEW_SOURCES[destination]?.[at] ?? '',
      target_text: target,
      context: {},
      revision: null,
    }),
  );
  await world.write('in.jsonl', await fileOf('jsonl', records));
}

describe('the counts of a localized release', () => {
  it.each([
    ['proofread', [], []],
    ['translated', [], []],
    ['draft', [], []],
    ['proofread', ['b.json'], []],
    ['translated', [], ['a.json']],
  ] as const)('are those of translation.status, for %s, %j and %j', async (minState, include, exclude) => {
    const open = await openFreezeWorld();
    open.world.store('a.json', [{ text: '早' }, { text: '再见' }, { text: '是', state: 'draft' }]);
    open.world.store('b.json', [{ text: '不' }, null]);
    await open.world.review({
      status: 'proofread',
      translation_results: [
        { unit_id: reviewUnit('a.json', 0), source_text: 'おはよう', translated_text: '早' },
      ],
      args: [`hold=${reviewUnit('a.json', 1)}`],
    });
    open.world.closeTask(open.world.task('b.json').task_id, 'skipped');
    const frozen = await open.freeze({ minState, include: [...include], exclude: [...exclude] });
    const status = open.world.calls.status({ include, exclude });
    expect(expectedOutcomes(status, minState)).toEqual(frozen.counts);
    expect(Object.values(status.excludedUnits).reduce((sum, each) => sum + each, 0)).toBe(
      frozen.excludedUnits,
    );
  });
});

describe('the texts of a localized release', () => {
  it('are the accepted targets, in the order of the index, with their exact places', async () => {
    const open = await openFreezeWorld();
    open.world.store('a.json', [{ text: '早' }, { text: 'a\u2028b' }, { text: '是' }]);
    open.world.store('b.json', [{ text: '不' }, null]);
    await accept(open);
    const frozen = await open.freeze();
    expect(await editsOf(frozen)).toEqual({
      'a.json': { おはよう: '早', さようなら: 'a\u2028b', はい: '是' },
    });
    const [container] = frozen.containers;
    expect(container).toMatchObject({ destination: 'a.json', edits: 3, official: { size: 100 } });
    const lines = (await readFile(container?.editsPath ?? '', 'utf8')).split(/[\n\u2028]/);
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      unitId: reviewUnit('a.json', 0),
      archiveEntry: null,
      pathId: null,
      fieldPath: '/k0',
      source: 'おはよう',
      target: '早',
    });
    expect(frozen.counts).toEqual({ ...noOutcomes(), published: 3, below_min_state: 1, untranslated: 1 });
    expect(frozen.destinations).toEqual([
      { destination: 'a.json', counts: { ...noOutcomes(), published: 3 } },
      { destination: 'b.json', counts: { ...noOutcomes(), below_min_state: 1, untranslated: 1 } },
    ]);
    requirePublishable(frozen, EVERYTHING, false);
  });

  it('follow the minimum state and the globs', async () => {
    const open = await openFreezeWorld();
    open.world.store('a.json', [{ text: '早', state: 'draft' }, { text: '再见' }, null]);
    open.world.store('b.json', [{ text: '不' }, { text: '见' }]);
    expect(await editsOf(await open.freeze({ minState: 'translated' }))).toEqual({
      'a.json': { さようなら: '再见' },
      'b.json': { いいえ: '不', またね: '见' },
    });
    const some = await open.freeze({ minState: 'draft', include: ['*.json'], exclude: ['b*'] });
    expect(await editsOf(some)).toEqual({ 'a.json': { おはよう: '早', さようなら: '再见' } });
    expect(some).toMatchObject({ excludedUnits: 2, counts: { published: 2, untranslated: 1 } });
  });

  it('leave out units on hold, and the units of skipped tasks', async () => {
    const open = await openFreezeWorld();
    open.world.store('a.json', [{ text: '早' }, { text: '再见' }, { text: '是' }]);
    await accept(open);
    const target = { unit_id: reviewUnit('a.json', 1), source_text: 'さようなら', translated_text: '再见' };
    await open.world.review({
      status: 'proofread',
      translation_results: [target],
      args: [`hold=${reviewUnit('a.json', 1)}`],
    });
    open.world.closeTask(open.world.task('b.json').task_id, 'skipped');
    const frozen = await open.freeze();
    expect(await editsOf(frozen)).toEqual({ 'a.json': { おはよう: '早', はい: '是' } });
    expect(frozen.counts).toEqual({ ...noOutcomes(), published: 2, held: 1, skipped: 2 });
  });

  it('are refused while a unit is blocked, with force too, and no longer when its finding is accepted', async () => {
    const open = await openFreezeWorld();
    open.world.store('a.json', [{ text: '早' }, { text: 'HMM' }, { text: '是' }]);
    const frozen = await open.freeze({ minState: 'translated' });
    expect(frozen.counts).toMatchObject({ published: 2, blocked: 1 });
    expect(frozen.blocked).toEqual([
      {
        destination: 'a.json',
        archive_entry: null,
        unit_id: reviewUnit('a.json', 1),
        task_id: open.world.task().task_id,
        codes: ['tags'],
        source_text: 'さようなら',
        qa_identity: 'gqa1_さようなら_HMM',
      },
    ]);
    expect(() => {
      requirePublishable(frozen, EVERYTHING, true);
    }).toThrow(/1 unit has blocking findings: .*tags/);
    await open.world.review({
      status: 'proofread',
      reason: 'it is right',
      args: [`waive=${reviewUnit('a.json', 1)}:tags`],
    });
    expect((await open.freeze()).counts).toMatchObject({ published: 3, blocked: 0 });
  });

  it('are read only in files that have some; the units of the others are counted', async () => {
    const open = await openFreezeWorld();
    const sources = { ...REVIEW_SOURCES, '0.json': ['あ', 'い'], 'a0.json': ['お'], 'a1.json': ['か', 'き'] };
    await open.world.build('r2', { ...sources, 'a2.json': ['く'] });
    open.world.store('a.json', [{ text: '早' }, null]);
    open.world.store('b.json', [null, { text: '见' }]);
    open.world.closeTask(open.world.task('a2.json').task_id, 'skipped');
    // A rollback puts units on hold that have their texts from a file, and no target.
    await open.world.write('in.csv', `unit_id,source_text,target_text\n${reviewUnit('a1.json', 1)},き,气\n`);
    const taken = await open.freeze({}, { baseReleaseId: 'r2', translationFile: 'in.csv' });
    await open.freezer.record(taken, 'l1', new AbortController().signal);
    await open.world.publishing.hold({ from: 'l1', to: 'unknown', reviewer: null, reason: null });
    const phases = new Set<string>();
    const read: string[] = [];
    const { unitsAfter, publishing } = open.world;
    const freezer = createFreezer(
      {
        unitsAfter: async (query, signal) => {
          const page = await unitsAfter(query, signal);
          read.push(...page.items.map(({ destination }) => destination));
          return page;
        },
        isCurrent: () => Promise.resolve(true),
      },
      publishing,
    );
    const frozen = await freezer.freeze(
      {
        baseReleaseId: 'r2',
        translationFile: null,
        policy: { ...EVERYTHING, minState: 'draft', exclude: ['a0.json'] },
        workDirectory: await temporaryDirectory(),
      },
      { ...CONTEXT, progress: (_done, _total, _unit, phase) => phases.add(phase) },
    );
    expect([...phases]).toContain('collecting texts');
    expect([...new Set(read)]).toEqual(['a.json', 'a1.json', 'b.json']);
    expect(await editsOf(frozen)).toEqual({ 'a.json': { おはよう: '早' }, 'b.json': { またね: '见' } });
    expect(frozen.destinations.map(({ destination, counts }) => [destination, counts])).toEqual([
      ['0.json', { ...noOutcomes(), untranslated: 2 }],
      ['a.json', { ...noOutcomes(), published: 1, untranslated: 2 }],
      ['a1.json', { ...noOutcomes(), held: 1, untranslated: 1 }],
      ['a2.json', { ...noOutcomes(), skipped: 1 }],
      ['b.json', { ...noOutcomes(), published: 1, untranslated: 1 }],
    ]);
    expect(frozen).toMatchObject({
      excludedUnits: 1,
      counts: { published: 2, untranslated: 6, held: 1, skipped: 1 },
    });
  });

  it('are those of one moment, whatever is stored while they are read', async () => {
    const open = await openFreezeWorld();
    open.world.store('a.json', [{ text: '早' }, { text: '再见' }, { text: '是' }]);
    const { unitsAfter, publishing } = open.world;
    const freezer = createFreezer(
      {
        unitsAfter: async (query, signal) => {
          open.world.store('a.json', [{ text: '晚' }, null, { text: '否' }]);
          return await unitsAfter(query, signal);
        },
        isCurrent: () => Promise.resolve(true),
      },
      publishing,
    );
    const request = {
      baseReleaseId: 'r1',
      translationFile: null,
      policy: { ...EVERYTHING, minState: 'translated' as const },
      workDirectory: await temporaryDirectory(),
    };
    expect(await editsOf(await freezer.freeze(request, CONTEXT))).toEqual({
      'a.json': { おはよう: '早', さようなら: '再见', はい: '是' },
    });
    expect(await editsOf(await open.freeze({ minState: 'translated' }))).toEqual({
      'a.json': { おはよう: '晚', さようなら: '再见', はい: '否' },
    });
  });

  it('have the same patch key for the same texts, and another one for other texts', async () => {
    const open = await openFreezeWorld();
    open.world.store('a.json', [{ text: '早' }, { text: '再见' }, { text: '是' }]);
    open.world.store('b.json', [{ text: '不' }, { text: '见' }]);
    const keys = async (): Promise<readonly string[]> =>
      (await open.freeze({ minState: 'draft' })).containers.map(({ patchKey }) => patchKey);
    const [a, b] = await keys();
    expect(await keys()).toEqual([a, b]);
    open.world.store('b.json', [{ text: '不是' }]);
    const [sameA, otherB] = await keys();
    expect(sameA).toBe(a);
    expect(otherB).not.toBe(b);
  });

  it('wait for the index and the tasks of the official release', async () => {
    let isCurrent = false;
    const open = await openFreezeWorld(() => isCurrent);
    await expect(open.freeze()).rejects.toMatchObject({ code: 'text_not_indexed', retryable: true });
    isCurrent = true;
    await expect(open.freeze({}, { baseReleaseId: 'r2' })).rejects.toMatchObject({ code: 'tasks_not_built' });
    open.world.indexOnly('r2', REVIEW_SOURCES);
    await expect(open.freeze({}, { baseReleaseId: 'r2' })).rejects.toMatchObject({
      code: 'tasks_not_built',
      retryable: true,
    });
    await open.world.build('r2');
    expect(await open.freeze({}, { baseReleaseId: 'r2' })).toMatchObject({ baseReleaseId: 'r2' });
  });
});

describe('the texts of a file', () => {
  it('are published without becoming targets', async () => {
    const open = await openFreezeWorld();
    await writeFileOf(open, [
      ['a.json', 0, '早'],
      ['b.json', 1, '见'],
    ]);
    const before = open.world.everything();
    const frozen = await open.freeze({}, { translationFile: 'in.jsonl' });
    expect(await editsOf(frozen)).toEqual({ 'a.json': { おはよう: '早' }, 'b.json': { またね: '见' } });
    expect(frozen.counts).toEqual({ ...noOutcomes(), published: 2, untranslated: 3 });
    expect(frozen.translationFileSha256).toMatch(/^[0-9a-f]{64}$/);
    expect(open.world.everything()).toEqual(before);
  });

  it('are judged as all targets are', async () => {
    const open = await openFreezeWorld();
    await writeFileOf(open, [['a.json', 0, 'BAD']]);
    const frozen = await open.freeze({}, { translationFile: 'in.jsonl' });
    expect(frozen.counts).toMatchObject({ blocked: 1, published: 0 });
    expect(frozen.blocked).toMatchObject([{ codes: ['placeholders'] }]);
  });

  it('are refused with a row that fits no unit', async () => {
    const open = await openFreezeWorld();
    const before = open.world.everything();
    await open.world.write('in.csv', 'unit_id,source_text,target_text\ntu1_x,知らない,x\n');
    await expect(open.freeze({}, { translationFile: 'in.csv' })).rejects.toMatchObject({
      code: 'file_refused',
      message: expect.stringContaining('line 2') as string,
    });
    await expect(open.freeze({}, { translationFile: 'none.csv' })).rejects.toMatchObject({
      code: 'file_not_found',
    });
    await expect(open.freeze({}, { translationFile: '../x.csv' })).rejects.toMatchObject({
      code: 'invalid_path',
    });
    expect(open.world.everything()).toEqual(before);
  });
});

describe('the demands on a localized release', () => {
  const frozen = (published: number, untranslated: number): FrozenRelease => ({
    baseReleaseId: 'r1',
    generation: 1,
    containers: [],
    counts: { ...noOutcomes(), published, untranslated },
    excludedUnits: 0,
    destinations: [],
    blocked: [],
    lostUnits: null,
    translationFileSha256: null,
  });

  it.each([
    [frozen(9, 1), 0.9, []],
    [frozen(9, 1), 0.91, ['coverage_incomplete']],
    [frozen(0, 10), 0, ['coverage_incomplete']],
  ])('refuse too little coverage: %j of %d', (release, minCoverage, codes) => {
    const policy = { ...EVERYTHING, minCoverage };
    expect(blockersOf(release, policy).map(({ code }) => code)).toEqual(codes);
    requirePublishable(release, policy, true);
  });

  it('refuse a file without a text that can be published, even with force', () => {
    const ofFile = (published: number) => () => {
      const release = { ...frozen(published, 10), translationFileSha256: 'f'.repeat(64) };
      requirePublishable(release, { ...EVERYTHING, minCoverage: 1 }, true);
    };
    expect(ofFile(0)).toThrow(/^no unit can be published: /);
    expect(ofFile(1)).not.toThrow();
  });
});
