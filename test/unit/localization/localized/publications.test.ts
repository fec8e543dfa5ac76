import { describe, expect, it } from 'vitest';
import { editsOf, openFreezeWorld, type FreezeWorld } from '../../../support/freeze-world.ts';
import { reviewUnit } from '../../../support/review-world.ts';

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

describe('the containers of a localized release', () => {
  it('differ from those with another text, file or base', async () => {
    const open = await openTranslated();
    const policy = { minState: 'translated' } as const;
    await publish(open, 'l1');
    const same = await open.freeze(policy);
    const isL1 = async (frozen: typeof same): Promise<boolean> =>
      await open.freezer.isRecordedAs(frozen, 'l1', SIGNAL);
    expect(await isL1(same)).toBe(true);
    expect(await open.freezer.isRecordedAs(same, 'l2', SIGNAL)).toBe(false);
    expect(await isL1({ ...same, baseReleaseId: 'r2' })).toBe(false);
    expect(await isL1(await open.freeze({ ...policy, exclude: ['a.json'] }))).toBe(false);
    open.world.store('a.json', [{ text: '早上好' }]);
    expect(await isL1(await open.freeze(policy))).toBe(false);
  });
});

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
    // A comparison takes the place of none, and leaves none.
    const frozen = await open.freeze({ minState: 'translated' });
    expect(await open.freezer.changesFrom(frozen, 'l2', SIGNAL)).toMatchObject({ units: 1 });
    expect(await open.freezer.changesFrom(frozen, 'l2', SIGNAL)).toMatchObject({ units: 1 });
    expect(open.world.rows('SELECT count(*) AS n FROM publication')).toEqual([{ n: 50 }]);
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
    expect(await open.world.publishing.countHolds(taken, SIGNAL)).toBe(2);
    expect(heldUnits(open)).toEqual([]);
    expect(await open.world.publishing.hold(taken)).toBe(2);
    expect(await open.world.publishing.countHolds(taken, SIGNAL)).toBe(0);
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
    expect(await open.world.publishing.countHolds({ ...taken, to: null }, SIGNAL)).toBe(0);
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
    expect(await open.world.publishing.countHolds({ ...taken, to: null }, SIGNAL)).toBe(1);
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
    expect(await open.world.publishing.countHolds({ ...taken, from: 'unknown' }, SIGNAL)).toBe(0);
    expect(await open.world.publishing.countHolds(taken, SIGNAL)).toBe(4);
    expect(await open.world.publishing.hold(taken)).toBe(4);
  });
});

describe('the comparison of two localized releases', () => {
  const openTwo = async (): Promise<FreezeWorld> => {
    const open = await openTranslated();
    await publish(open, 'l1');
    open.world.store('a.json', [{ text: '早上好' }]);
    open.world.store('b.json', [null, { text: '见' }]);
    await publish(open, 'l2');
    // Later work is not what readers see.
    open.world.store('a.json', [{ text: '早安' }]);
    return open;
  };
  const official = (text: string) => ({ official: true, text });
  const target = (text: string | null) => ({ official: false, text });

  it('has the text of each changed unit before and after, in either direction', async () => {
    const { world } = await openTwo();
    const greeting = { unit_id: reviewUnit('a.json', 0), destination: 'a.json', source_text: 'おはよう' };
    const parting = { unit_id: reviewUnit('b.json', 1), destination: 'b.json', source_text: 'またね' };
    const files = [
      { destination: 'a.json', units: 1 },
      { destination: 'b.json', units: 1 },
    ];
    expect(await world.publishing.compare({ from: 'l2', to: 'l1' }, SIGNAL)).toEqual({
      units: 2,
      changes: [
        { ...greeting, before: target('早上好'), after: target('早') },
        { ...parting, before: target('见'), after: official('またね') },
      ],
      files,
    });
    expect(await world.publishing.compare({ from: 'l1', to: 'l2' }, SIGNAL)).toEqual({
      units: 2,
      changes: [
        { ...greeting, before: target('早'), after: target('早上好') },
        { ...parting, before: official('またね'), after: target('见') },
      ],
      files,
    });
    expect(await world.publishing.compare({ from: 'l1', to: 'l1' }, SIGNAL)).toMatchObject({ units: 0 });
  });

  it('with texts that are not published yet says what readers would see, and leaves no record', async () => {
    const open = await openTwo();
    const { world, freezer } = open;
    const records = (): unknown[] => [
      world.rows('SELECT localized_release_id FROM publication ORDER BY publication_id'),
      world.rows('SELECT hex(patch_key), hex(unit_id) FROM published_text ORDER BY 1, 2'),
      world.rows('SELECT * FROM loose_patch_key'),
    ];
    const before = records();
    const frozen = await open.freeze({ minState: 'translated' });
    expect(await freezer.changesFrom(frozen, 'l2', SIGNAL)).toEqual({
      units: 1,
      changes: [
        {
          unit_id: reviewUnit('a.json', 0),
          destination: 'a.json',
          source_text: 'おはよう',
          before: target('早上好'),
          after: target('早安'),
        },
      ],
      files: [{ destination: 'a.json', units: 1 }],
    });
    expect(await freezer.changesFrom(frozen, 'unknown', SIGNAL)).toBeNull();
    expect(records()).toEqual(before);
  });

  it('with nothing says that every text is official again', async () => {
    const { world } = await openTwo();
    const compared = await world.publishing.compare({ from: 'l2', to: null }, SIGNAL);
    expect(compared).toMatchObject({ units: 5, files: [{ units: 3 }, { units: 2 }] });
    expect(compared?.changes.every(({ after }) => after.official)).toBe(true);
  });

  it('is not possible without a record', async () => {
    const { world } = await openTwo();
    expect(await world.publishing.compare({ from: 'unknown', to: 'l1' }, SIGNAL)).toBeNull();
    expect(await world.publishing.compare({ from: 'l2', to: 'unknown' }, SIGNAL)).toBeNull();
  });

  it('shows the first 100 units and counts all', async () => {
    const sources = Array.from({ length: 130 }, (_, at) => `第${at}行の文`);
    const open = await openFreezeWorld();
    await open.world.build('r2', { 'long.json': sources });
    await publish(open, 'l1', 'r2');
    const rows = sources.map((source, at) => ({
      unit_id: reviewUnit('long.json', at),
      source_text: source,
      target_text: `文${at}`,
    }));
    await open.world.write('long.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'));
    const review = { reviewer: 'Rin', reason: null, partial: false, token_id: null };
    await open.world.run('proofread-import', { translation_file: 'long.jsonl', ...review });
    await publish(open, 'l2', 'r2');
    const compared = await open.world.publishing.compare({ from: 'l2', to: 'l1' }, SIGNAL);
    expect(compared).toMatchObject({ units: 130, files: [{ destination: 'long.json', units: 130 }] });
    expect(compared?.changes).toHaveLength(100);
  });
});

describe('the comparison of many files', () => {
  it('is made in bounded parts, with every unit once, and ends when it is cancelled', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 250 }, (_, at) => [`${1000 + at}.json`, [`第${at}行`]]),
    );
    const open = await openFreezeWorld();
    await open.world.build('r2', files);
    const rows = Object.entries(files).map(([destination, [source]]) => ({
      unit_id: reviewUnit(destination, 0),
      source_text: source,
      target_text: `行${destination}`,
    }));
    await open.world.write('many.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'));
    const review = { reviewer: 'Rin', reason: null, partial: false, token_id: null };
    await publish(open, 'l1', 'r2');
    await open.world.run('proofread-import', { translation_file: 'many.jsonl', ...review });
    await publish(open, 'l2', 'r2');
    const compare = async (from: string, to: string | null, signal = SIGNAL) =>
      await open.world.publishing.compare({ from, to }, signal);
    for (const compared of [
      await compare('l2', null),
      await compare('l1', 'l2'),
      await compare('l2', 'l1'),
    ]) {
      expect(compared).toMatchObject({ units: 250, files: { length: 100 }, changes: { length: 100 } });
      expect(new Set(compared?.changes.map(({ destination }) => destination)).size).toBe(100);
    }
    await expect(compare('l2', null, AbortSignal.abort(new Error('cancelled')))).rejects.toThrow('cancelled');
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

  it('are lost, too, where their file has no target at all', async () => {
    const open = await openTranslated();
    const unit = { unit_id: reviewUnit('c.json', 0), source_text: 'から', target_text: '空' };
    await open.world.build('r2', { ...sources, 'c.json': ['から'] });
    const lines = `unit_id,source_text,target_text\n${Object.values(unit).join(',')}\n`;
    await open.world.write('in.csv', lines);
    const frozen = await open.freeze({}, { baseReleaseId: 'r2', translationFile: 'in.csv' });
    expect(frozen.counts).toMatchObject({ published: 1, untranslated: 5 });
    await open.freezer.record(frozen, 'l1', SIGNAL);
    await open.world.build('r3', { ...sources, 'c.json': ['から'] });
    const next = await open.freeze({}, { baseReleaseId: 'r3', previousReleaseId: 'l1' });
    expect(next.lostUnits).toBe(1);
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
