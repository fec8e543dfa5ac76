import { array, assert, asyncProperty, constantFrom, nat, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unitIdText } from '../../../../src/localization/unit-id-text.ts';
import { parseConfigurationSchema } from '../../../../src/localization/parse/rules/parse-config.ts';
import type { Judging } from '../../../../src/localization/translation/judge/judging.ts';
import { createTextRules } from '../../../../src/localization/translation/judge/text-rules.ts';
import {
  followRules,
  propagateTargets,
} from '../../../../src/localization/translation/repetitions/repetitions.ts';
import { NO_PROVENANCE } from '../../../../src/localization/translation/work/store/target-rows.ts';
import type { TranslationStore } from '../../../../src/localization/translation/work/translation-worker.ts';
import { aroundCalls } from '../../../support/caller-in-process.ts';
import { indexRelease, unitIdOf } from '../../../support/index-release.ts';
import {
  EMPTY_UPDATE,
  blockingFinding,
  judgeOf,
  openTranslatedTexts,
  type TestTexts,
  type TranslatedTexts,
} from '../../../support/translated-texts.ts';
import { buildTasks, openTestWork, resultsOf, rowsOf } from '../../../support/translation-work.ts';
import { partial } from '../../../support/partial.ts';

/** "はい" stands four times, and once for another speaker. */
const TEXTS: TestTexts = {
  'a.json': { 0: 'はい', 1: 'いいえ', 2: 'はい' },
  'b.json': { 0: 'はい', 1: '「はい」' },
  'c.json': { 0: 'はい', title: 'はい' },
};
const REPEATED = [
  ['a.json', '0'],
  ['a.json', '2'],
  ['b.json', '0'],
  ['c.json', '0'],
] as const;

/** A target with "LONG" is too long for b.json. */
const JUDGE = judgeOf(({ place, targetText }) =>
  place.destination === 'b.json' && targetText.includes('LONG') ? [blockingFinding('too_long')] : [],
);

async function open(texts: TestTexts = TEXTS) {
  const world = await openTranslatedTexts();
  world.build('r1', texts);
  const propagate = async (signal = new AbortController().signal) =>
    await propagateTargets(
      { thread: world.thread, judging: partial<Judging>({ judge: JUDGE, units: world.units }) },
      { signal, progress: () => undefined },
    );
  return { ...world, propagate, texts: () => textsOf(world) };
}

function textsOf(world: TranslatedTexts) {
  return REPEATED.map(([file, key]) => world.target(file, key)?.target_text ?? null);
}

const proofread = (world: TranslatedTexts, file: string, key: string): void => {
  world.run(`UPDATE target SET state = 'proofread', revision = revision + 1
    WHERE unit_id = x'${unitIdOf(file, key).toString('hex')}'`);
};

describe('repetitions', () => {
  it('get the target of the unit that was translated, and say where it comes from', async () => {
    const world = await open();
    world.type('a.json', '2', '是');
    expect(await world.propagate()).toEqual({ written: 3 });
    expect(world.texts()).toEqual(['是', '是', '是', '是']);
    const origin = unitIdOf('a.json', '2');
    expect(world.target('b.json', '0')).toMatchObject({ state: 'draft', revision: 1 });
    expect(Buffer.from(world.target('b.json', '0')?.propagated_from ?? [])).toEqual(origin);
    expect(world.target('b.json', '1')).toBeNull();
    expect(world.target('c.json', 'title')).toBeNull();
    expect(world.rows('SELECT DISTINCT reason FROM target_history ORDER BY reason')).toEqual([
      { reason: null },
      { reason: `repeats ${unitIdText(origin)}` },
    ]);
    expect(world.tasks().map(({ unit_counts }) => unit_counts)).toEqual([
      { draft: 2, untranslated: 1 },
      { draft: 1, untranslated: 1 },
      { draft: 1, untranslated: 1 },
    ]);
    expect(await world.propagate()).toEqual({ written: 0 });
  });

  it('keep a target of their own', async () => {
    const world = await open();
    world.type('b.json', '0', '好的');
    world.type('a.json', '0', '是');
    await world.propagate();
    // The first one in the order of the tasks is repeated.
    expect(world.texts()).toEqual(['是', '是', '好的', '是']);
    world.type('a.json', '2', '对');
    await world.propagate();
    expect(world.texts()).toEqual(['是', '对', '好的', '是']);
  });

  it('follow their origin when it changes, and a reviewed one only when the new text is reviewed', async () => {
    const world = await open();
    world.type('a.json', '0', '是');
    await world.propagate();
    proofread(world, 'c.json', '0');
    world.type('a.json', '0', '对');
    await world.propagate();
    expect(world.texts()).toEqual(['对', '对', '对', '是']);
    proofread(world, 'a.json', '0');
    const { repetition } = world.rows(`SELECT repetition FROM task_unit WHERE number = 0 LIMIT 1`)[0]!;
    const hex = Buffer.from(repetition as Uint8Array).toString('hex');
    world.run(`INSERT INTO changed_repetition (target_language, repetition) VALUES ('zh-Hans', x'${hex}')`);
    await world.propagate();
    expect(world.texts()).toEqual(['对', '对', '对', '对']);
    expect(world.target('c.json', '0')).toMatchObject({ state: 'proofread' });
    expect(world.target('a.json', '2')).toMatchObject({ state: 'translated' });
  });

  it('become drafts with a target that a reviewer returns, those of them that nobody accepted', async () => {
    const world = await open();
    world.type('a.json', '0', '是');
    world.run(`UPDATE target SET state = 'translated', revision = revision + 1`);
    await world.propagate();
    expect(world.target('b.json', '0')).toMatchObject({ state: 'translated' });
    proofread(world, 'c.json', '0');
    world.type('a.json', '0', '是', { status: 'in_progress' });
    await world.propagate();
    expect(REPEATED.map(([file, key]) => world.target(file, key)?.state)).toEqual([
      'draft',
      'draft',
      'draft',
      'proofread',
    ]);
    expect(await world.propagate()).toEqual({ written: 0 });
  });

  it('are judged in their own places', async () => {
    const world = await open();
    world.type('a.json', '0', 'LONG');
    await world.propagate();
    expect(world.target('b.json', '0')).toMatchObject({ state: 'blocked', target_text: 'LONG' });
    expect(world.target('b.json', '0')?.findings).toContain('too_long');
    expect(world.target('c.json', '0')).toMatchObject({ state: 'draft' });
    world.type('b.json', '0', '是');
    await world.propagate();
    expect(world.texts()).toEqual(['LONG', 'LONG', '是', 'LONG']);
  });

  it('do not repeat a target that is blocked or on hold', async () => {
    const world = await open();
    world.type('a.json', '0', '是', { result: { findings: [blockingFinding('tags')] } });
    await world.propagate();
    world.type('b.json', '0', '是', {
      hold: [{ unitId: unitIdOf('b.json', '0'), pointer: '/args/0' }],
    });
    await world.propagate();
    expect(world.texts()).toEqual(['是', null, '是', null]);
  });

  it('leave units that a person holds or works on', async () => {
    const world = await open();
    const named = (file: string) => [{ unitId: unitIdOf(file, '0'), pointer: '/args/0' }];
    world.type('b.json', '1', 'x', { hold: named('b.json') });
    world.type('c.json', 'title', 'x', {
      workerId: 'ann',
      leaseSeconds: 600,
      expect: [{ ...named('c.json')[0]!, revision: 0 }],
    });
    world.type('a.json', '0', '是');
    await world.propagate();
    expect(world.texts()).toEqual(['是', '是', null, null]);
  });

  it.each([
    ['put on hold', { reviewer: 'ann', hold: [{ unitId: unitIdOf('b.json', '0'), pointer: '/args/0' }] }],
    [
      'claimed',
      {
        expect: [{ unitId: unitIdOf('b.json', '0'), revision: 0, pointer: '/args/0' }],
        workerId: 'ann',
        leaseSeconds: 60,
      },
    ],
    ['skipped with its task', { status: 'skipped', reason: 'not ours' }],
  ] as const)('leave a unit that was %s while it was judged', async (_, change) => {
    const world = await open();
    world.type('a.json', '0', '是');
    const task = world.tasks().find(({ destination }) => destination === 'b.json');
    const thread = aroundCalls<TranslationStore>(world.thread, async (name, call) => {
      if (name === 'storeRepetitions') {
        const update = { ...EMPTY_UPDATE, taskId: task?.task_id ?? '', status: null, ...change };
        expect(world.calls.applyUpdate(update)).toMatchObject({ isRefused: false });
      }
      return await call();
    });
    const written = await propagateTargets(
      { thread, judging: partial<Judging>({ judge: JUDGE, units: world.units }) },
      { signal: new AbortController().signal, progress: () => undefined },
    );
    expect(written).toEqual({ written: 2 });
    expect(world.texts()).toEqual(['是', '是', null, '是']);
  });

  it('take part only where the rule of their container lets them', async () => {
    const world = await open();
    let rules = [{ destination: ['b.json'], repetitions: false }];
    const configured = () => parseConfigurationSchema.parse({ rules });
    let configuration = configured();
    const textRules = createTextRules(() => configuration);
    const { signal } = new AbortController();
    await followRules(world.thread, await textRules(), signal);
    world.type('a.json', '0', '是');
    world.type('b.json', '0', '好的');
    await world.propagate();
    expect(world.texts()).toEqual(['是', '是', '好的', '是']);
    world.run(`DELETE FROM target WHERE target_text = '好的'`);
    rules = [];
    configuration = configured();
    await followRules(world.thread, await textRules(), signal);
    await world.propagate();
    expect(world.texts()).toEqual(['是', '是', '是', '是']);
  });

  it('get their target in the next release, too, and follow a unit whose id has moved', async () => {
    const world = await open({ 'a.json': { 0: 'はい', 1: 'いいえ' }, 'b.json': { 0: 'はい' } });
    world.type('a.json', '0', '是');
    await world.propagate();
    world.build('r2', {
      'a.json': { 0: 'またね', 1: 'はい', 2: 'いいえ' },
      'b.json': { 0: 'はい', 1: 'はい' },
    });
    await world.propagate();
    expect(world.target('b.json', '1')).toMatchObject({ target_text: '是' });
    expect(world.target('a.json', '0')).toBeNull();
    world.type('a.json', '1', '对');
    await world.propagate();
    expect(world.target('b.json', '0')).toMatchObject({ target_text: '对' });
    expect(world.target('b.json', '1')).toMatchObject({ target_text: '对' });
  });

  it('wait for the next tasks when the parse index has moved on', async () => {
    const world = await open();
    world.type('a.json', '0', '是');
    indexRelease(world.index, 'r2', [{ destination: 'z.json', leaves: [{ units: [['0', 'はい']] }] }]);
    const result = await world.propagate();
    expect(result).toEqual({ written: 0, postponed: expect.stringContaining('moved on') as string });
    expect(world.texts()).toEqual(['是', null, null, null]);
    expect(world.calls.wantsRepetitions()).toBe(true);
    world.build('r3', TEXTS);
    await world.propagate();
    expect(world.texts()).toEqual(['是', '是', '是', '是']);
    expect(world.calls.wantsRepetitions()).toBe(false);
  });

  it('of more units than a page holds are all written', async () => {
    const many = Object.fromEntries(Array.from({ length: 450 }, (_, at) => [at, 'はい']));
    const world = await open({ 'a.json': many });
    world.type('a.json', '7', '是');
    expect(await world.propagate()).toEqual({ written: 449 });
    expect(world.tasks()[0]?.unit_counts).toEqual({ draft: 450 });
  });

  it('leave workers the units that they do not reach, and no others', async () => {
    const world = await open();
    const request = { owner: 'w', leaseSeconds: 60, maxAttempts: 3, after: null };
    const leased = (file: string) => {
      const task = world.tasks().find(({ destination }) => destination === file);
      const lease = world.calls.claimChunk({ ...request, taskId: task?.task_id ?? '' });
      world.calls.endLease({ token: lease?.token ?? '', outcome: { kind: 'done' } });
      return lease?.units.map(({ ordinal }) => ordinal);
    };
    expect(leased('c.json')).toEqual([0, 1]);
    world.type('a.json', '0', '是');
    // The job gives "c.json" 0 its target.
    expect(leased('c.json')).toEqual([1]);
    await world.propagate();
    expect(leased('c.json')).toEqual([1]);
    expect(world.target('c.json', '0')).toMatchObject({ target_text: '是' });
    world.run(`DELETE FROM target WHERE target_text = '是'; UPDATE task SET untranslated = untranslated + draft, draft = 0;
      UPDATE chunk SET open_units = 3; UPDATE task SET repeats = 0`);
    world.type('a.json', '0', '是');
    const [first, second] = world.calls.claimChunk({ ...request, taskId: null })?.units ?? [];
    expect(first?.repetition).toEqual(first?.unitId);
    expect(second?.repetition).toEqual(second?.unitId);
    expect(leased('c.json')).toEqual([0, 1]);
  });

  it('property: an interrupted run loses nothing, and no target of a person is replaced', async () => {
    const step = record({
      kind: constantFrom('type', 'cut', 'propagate', 'release'),
      at: nat({ max: 3 }),
      text: constantFrom('是', '对', 'LONG'),
      calls: nat({ max: 3 }),
    });
    await assert(
      asyncProperty(array(step, { maxLength: 8 }), async (steps) => {
        const world = await open();
        const own = new Map<string, string>();
        let releases = 1;
        for (const { kind, at, text, calls } of steps) {
          const [file, key] = REPEATED[at] ?? REPEATED[0];
          if (kind === 'type') {
            world.type(file, key, text);
            own.set(`${file} ${key}`, text);
          } else if (kind === 'release') world.build(`r${(releases += 1)}`, TEXTS);
          else if (kind === 'propagate') await world.propagate();
          else await cut(world, calls);
        }
        await world.propagate();
        for (const [file, key] of REPEATED) {
          const target = world.target(file, key);
          const typed = own.get(`${file} ${key}`);
          if (typed !== undefined)
            expect(target).toMatchObject({ target_text: typed, propagated_from: null });
          else if (own.size === 0) expect(target).toBeNull();
          else expect([...own.values()]).toContain(target?.target_text);
        }
        const current = world.tasks().filter(({ status }) => status !== 'superseded');
        const counted = current.map(({ unit_counts }) =>
          Object.values(unit_counts).reduce((a, b) => a + b, 0),
        );
        expect(counted).toEqual([3, 2, 2]);
        expect(
          world.rows('SELECT unit_id FROM target_history GROUP BY unit_id, revision HAVING count(*) > 1'),
        ).toEqual([]);
      }),
      { numRuns: 15 },
    );
  });
});

/** Ends a run after some calls of the thread, as a kill does. */
async function cut(world: TranslatedTexts, calls: number): Promise<void> {
  let left = calls;
  const thread = aroundCalls<TranslationStore>(world.thread, async (_name, call) => {
    left -= 1;
    if (left < 0) throw new Error('killed');
    return await call();
  });
  const run = propagateTargets(
    { thread, judging: partial<Judging>({ judge: JUDGE, units: world.units }) },
    { signal: new AbortController().signal, progress: () => undefined },
  );
  await run.catch(() => undefined);
}

/** More than a part of the comparison holds. */
const MANY = 2100;

describe('targets of repeated sources', () => {
  it('finds the targets that differ from the usual one of their source in every part, in a group larger than a part too', () => {
    const work = openTestWork();
    const texts = [
      ...Array.from({ length: MANY }, (_, at) => `text ${Math.floor(at / 2)}`),
      ...Array.from({ length: MANY }, () => 'はい'),
    ];
    const units = texts.map((text, at) => [`k${at}`, text] as const);
    indexRelease(work.index, 'r1', [{ destination: 'a.json', leaves: [{ units }] }]);
    buildTasks(work, 1, 1000);
    const request = { owner: 'w', leaseSeconds: 60, maxAttempts: 3, taskId: null, after: null };
    for (let lease = work.at(1).claimChunk(request); lease !== null; lease = work.at(1).claimChunk(request)) {
      const { units: leased } = lease;
      const source = (at: number): string => texts[leased[at]?.ordinal ?? -1] ?? '';
      // The second unit of a pair, and one of the large group, have another target.
      const isOther = (at: number): boolean => {
        const ordinal = leased[at]?.ordinal ?? -1;
        return ordinal < MANY ? ordinal % 2 === 1 : ordinal === MANY + 7;
      };
      const text = (at: number): string => (isOther(at) ? '不' : '是');
      work.at(1).storeResults({
        token: lease.token,
        results: resultsOf(lease, text, source),
        provenance: NO_PROVENANCE,
      });
      work.at(1).endLease({ token: lease.token, outcome: { kind: 'done' } });
    }
    let parts = 0;
    let [seen, inconsistent] = [0, 0];
    for (let after: Uint8Array | null = null, isFirst = true; isFirst || after !== null; isFirst = false) {
      const part = work.compareTargets(after);
      [after, parts, seen, inconsistent] = [
        part.next,
        parts + 1,
        seen + part.units,
        inconsistent + part.inconsistent,
      ];
    }
    expect(parts).toBeGreaterThan(2);
    expect({ seen, inconsistent }).toEqual({ seen: texts.length, inconsistent: MANY / 2 + 1 });
    const marked = rowsOf(
      work.database,
      `SELECT count(*) AS units FROM target WHERE findings LIKE '%inconsistent_target%'`,
    );
    expect(marked).toEqual([{ units: MANY / 2 + 1 }]);
  });
});
