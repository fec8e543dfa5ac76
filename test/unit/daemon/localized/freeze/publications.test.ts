import { describe, expect, it } from 'vitest';
import { editsOf, openFreezeWorld, type FreezeWorld } from '../../../../support/freeze-world.ts';
import { reviewUnit } from '../../../../support/review-world.ts';

const SIGNAL = new AbortController().signal;

/** Freezes and records a release that became current, as the job does. */
async function publish(open: FreezeWorld, id: string, base = 'r1'): Promise<void> {
  const { freezer, world } = open;
  const frozen = await open.freeze({ minState: 'translated' }, { baseReleaseId: base });
  await freezer.record(frozen, id, SIGNAL);
  await world.publishing.markPublished(id);
}

const heldUnits = ({ world }: FreezeWorld): unknown[] =>
  world
    .rows(`SELECT source_text FROM hold JOIN target USING (unit_id) ORDER BY source_text`)
    .map(({ source_text: source }) => source);

const statuses = ({ world }: FreezeWorld): Record<string, string> =>
  Object.fromEntries(world.tasks().map(({ destination, status }) => [destination, status]));

const openTranslated = async (): Promise<FreezeWorld> => {
  const open = await openFreezeWorld();
  open.world.store('a.json', [{ text: '早' }, { text: '再见' }, { text: '是' }]);
  open.world.store('b.json', [{ text: '不' }, null]);
  return open;
};

describe('the tasks of a localized release', () => {
  it('are published when all of their texts are in it', async () => {
    const open = await openTranslated();
    await publish(open, 'l1');
    expect(statuses(open)).toEqual({ 'a.json': 'published', 'b.json': 'in_progress' });
    open.world.store('b.json', [null, { text: '见' }]);
    await publish(open, 'l2');
    expect(statuses(open)).toEqual({ 'a.json': 'published', 'b.json': 'published' });
  });

  it('are no longer published when a text changes, and again when it is published', async () => {
    const open = await openTranslated();
    await publish(open, 'l1');
    open.world.store('a.json', [{ text: '早上好' }]);
    expect(statuses(open)).toMatchObject({ 'a.json': 'translated' });
    await open.world.publishing.markPublished('l1');
    expect(statuses(open)).toMatchObject({ 'a.json': 'translated' });
    await publish(open, 'l2');
    expect(statuses(open)).toMatchObject({ 'a.json': 'published' });
  });

  it('stay published when their texts are accepted, and can be corrected', async () => {
    const open = await openTranslated();
    await publish(open, 'l1');
    const target = (text: string) => ({
      unit_id: reviewUnit('a.json', 0),
      source_text: 'おはよう',
      translated_text: text,
    });
    await open.world.review({ status: 'proofread', translation_results: [target('早')] });
    expect(statuses(open)).toMatchObject({ 'a.json': 'published' });
    await open.world.review({ status: 'proofread', translation_results: [target('早上好')] });
    expect(statuses(open)).toMatchObject({ 'a.json': 'translated' });
  });

  it('are no longer published when a later release leaves their file out', async () => {
    const open = await openTranslated();
    await publish(open, 'l1');
    const frozen = await open.freeze({ minState: 'draft', exclude: ['a.json'] });
    await open.freezer.record(frozen, 'l2', SIGNAL);
    await open.world.publishing.markPublished('l2');
    expect(statuses(open)).toEqual({ 'a.json': 'translated', 'b.json': 'in_progress' });
  });

  it('are no longer published when a release without recorded texts is current again', async () => {
    const open = await openTranslated();
    await publish(open, 'l1');
    await open.world.publishing.markPublished('patches');
    expect(statuses(open)).toMatchObject({ 'a.json': 'translated' });
  });

  it('are recorded again as they were when the job runs again', async () => {
    const open = await openTranslated();
    await publish(open, 'l1');
    const before = ['published_text', 'loose_patch_key'].map((table) =>
      open.world.rows(`SELECT * FROM ${table}`),
    );
    await publish(open, 'l1');
    expect(open.world.rows('SELECT localized_release_id FROM publication')).toHaveLength(1);
    expect(
      ['published_text', 'loose_patch_key'].map((table) => open.world.rows(`SELECT * FROM ${table}`)),
    ).toEqual(before);
  });

  it('keep the texts of the newest 50 releases', async () => {
    const open = await openTranslated();
    for (let at = 0; at < 52; at += 1) {
      open.world.store('a.json', [{ text: `早${at}` }]);
      await publish(open, `l${at}`);
    }
    expect(open.world.rows('SELECT count(*) AS n FROM publication')).toEqual([{ n: 50 }]);
    // Three units of one container for each release, and the one container that all of them share.
    expect(open.world.rows('SELECT count(*) AS n FROM published_text')).toEqual([{ n: 151 }]);
    expect(open.world.rows('SELECT * FROM loose_patch_key')).toEqual([]);
  });
});

describe('a rollback', () => {
  const taken = { from: 'l2', to: 'l1', reviewer: 'Rin', reason: 'wrong name' };

  it('holds the units that the release before did not have like this, until someone accepts them', async () => {
    const open = await openTranslated();
    await publish(open, 'l1');
    open.world.store('a.json', [{ text: '坏' }]);
    open.world.store('b.json', [null, { text: '见' }]);
    await publish(open, 'l2');
    expect(await open.world.publishing.hold(taken)).toBe(2);
    await open.world.publishing.markPublished('l1');
    expect(heldUnits(open)).toEqual(['おはよう', 'またね']);
    expect(open.world.rows('SELECT DISTINCT reviewer, reason FROM hold')).toEqual([
      { reviewer: 'Rin', reason: 'wrong name' },
    ]);
    expect(statuses(open)).toEqual({ 'a.json': 'translated', 'b.json': 'translated' });
    expect(await editsOf(await open.freeze({ minState: 'draft' }))).toEqual({
      'a.json': { さようなら: '再见', はい: '是' },
      'b.json': { いいえ: '不' },
    });
    await open.world.review({ status: 'proofread' });
    expect(heldUnits(open)).toEqual(['またね']);
    expect(await open.world.publishing.hold(taken)).toBe(1);
  });

  it('without a release before holds no unit', async () => {
    const open = await openTranslated();
    await publish(open, 'l2');
    expect(await open.world.publishing.hold({ ...taken, to: null })).toBe(0);
    await open.world.publishing.markPublished(null);
    expect(statuses(open)).toEqual({ 'a.json': 'translated', 'b.json': 'in_progress' });
  });

  it('that withdraws the first release of a base leaves the texts of the base before free', async () => {
    const open = await openTranslated();
    await publish(open, 'l1');
    await open.world.build('r2', {
      'a.json': ['おはよう', 'さようなら', 'はい'],
      'b.json': ['いいえ', 'またね'],
    });
    open.world.store('b.json', [null, { text: '坏' }]);
    await publish(open, 'l2', 'r2');
    expect(await open.world.publishing.hold({ ...taken, to: null })).toBe(1);
    expect(heldUnits(open)).toEqual(['またね']);
  });

  it('that withdraws the channel does not compare with a release that never was current', async () => {
    const open = await openTranslated();
    const { freezer, world } = open;
    await freezer.record(await open.freeze({ minState: 'translated' }), 'l1', SIGNAL);
    world.store('a.json', [{ text: '早上好' }]);
    await publish(open, 'l2');
    expect(await world.publishing.hold({ ...taken, to: null })).toBe(0);
  });

  it('to a release without a record holds every unit, and one of an unknown release none', async () => {
    const open = await openTranslated();
    await publish(open, 'l2');
    expect(await open.world.publishing.hold({ ...taken, from: 'unknown' })).toBe(0);
    expect(await open.world.publishing.hold(taken)).toBe(4);
  });
});

describe('the texts of the release before', () => {
  const sources = { 'a.json': ['おはよう', 'さようなら', 'はい'], 'b.json': ['いいえ', 'またね'] };

  it('are lost only when the target of the same source no longer suffices', async () => {
    const open = await openTranslated();
    await publish(open, 'l1');
    const lost = async (
      minState: 'draft' | 'translated' | 'proofread',
      previousReleaseId: string | null = 'l1',
    ) => (await open.freeze({ minState }, { baseReleaseId: 'r2', previousReleaseId })).lostUnits;
    // One text changed, and one is new.
    await open.world.build('r2', { ...sources, 'a.json': ['おはよう', '変わった', 'はい', '新しい'] });
    expect(await lost('translated')).toBe(0);
    expect(await lost('proofread')).toBe(3);
    expect(await lost('proofread', null)).toBeNull();
    expect(await lost('proofread', 'unknown')).toBeNull();
  });

  it('are compared by their source when official releases between were not followed', async () => {
    const open = await openTranslated();
    await publish(open, 'l1');
    // One text changed in r2, one moved to another place, and r3 has both as r2 has them.
    const changed = { 'a.json': ['変わった', 'さようなら', '間', 'はい'], 'b.json': ['いいえ', 'またね'] };
    await open.world.build('r2', changed);
    await open.world.build('r3', changed);
    const lost = async (minState: 'translated' | 'proofread') =>
      (await open.freeze({ minState }, { baseReleaseId: 'r3', previousReleaseId: 'l1' })).lostUnits;
    expect(await lost('translated')).toBe(0);
    expect(await lost('proofread')).toBe(3);
  });

  it('are not lost where people have taken the unit out', async () => {
    const open = await openTranslated();
    await publish(open, 'l1');
    await open.world.build('r2', sources);
    await open.world.publishing.hold({ from: 'l1', to: 'unknown', reviewer: null, reason: null });
    const frozen = await open.freeze(
      { minState: 'translated' },
      { baseReleaseId: 'r2', previousReleaseId: 'l1' },
    );
    expect(frozen).toMatchObject({ lostUnits: 0, counts: { held: 4, published: 0 } });
  });
});

describe('judgements before a freeze', () => {
  it('are made again where they are older than rules or Glossary', async () => {
    const open = await openTranslated();
    const judgedBefore = open.world.judged.length;
    await open.freeze();
    expect(open.world.judged.length).toBeGreaterThan(judgedBefore);
    const judgedOnce = open.world.judged.length;
    await open.freeze();
    expect(open.world.judged).toHaveLength(judgedOnce);
  });
});
