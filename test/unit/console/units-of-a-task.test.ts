import { exampleOf } from '../../../scripts/reference/examples.ts';
import { describe, expect, it } from 'vitest';
import type { Problem } from '../../../src/console/api/wire.ts';
import { counted } from '../../../src/console/text/format.ts';
import { distinctMatches } from '../../../src/console/translate/editor/unit/memory-matches.tsx';
import { submitPlanOf, isSubmitOffered } from '../../../src/console/translate/editor/submit-panel.tsx';
import {
  SCAN_LIMIT,
  readAcross,
  scanUnits,
  type FoundUnit,
  type ReadUnits,
  type ScanProgress,
  type UnitPage,
} from '../../../src/console/translate/editor/list/unit-scan.tsx';
import type { UnitDraft } from '../../../src/console/translate/editor/draft/unit-draft.ts';
import {
  isFiltering,
  UNIT_FILTERS,
  unitMatcher,
} from '../../../src/console/translate/editor/list/shown-units.ts';
import {
  findingMark,
  needsWork,
  returnOf,
  type Unit,
  type UnitHistory,
} from '../../../src/console/translate/editor/unit.ts';
import { ApiFailure } from '../../../src/console/api/api-client.ts';
import { filePattern } from '../../../src/console/translate/queue/queue-filters.ts';
import {
  isWaiting,
  newFiles,
  previousTarget,
  readTargetOf,
  refusalsOf,
  riskiest,
  tick,
  tickedOf,
} from '../../../src/console/translate/review/review-model.ts';
import { sendDecisions } from '../../../src/console/translate/review/send-decisions.ts';
import { REPORTS } from '../../../src/contract/reports/reports.ts';

const [EXAMPLE] = REPORTS['parse.text_units'].answer.schema.parse(
  exampleOf(REPORTS['parse.text_units'].answer),
).items;

/** A container of `total` units whose pages hold at most `most` of them. */
function container(total: number, most = Infinity) {
  const asked: number[] = [];
  const read = async (offset: number, limit: number): Promise<UnitPage> => {
    asked.push(limit);
    if (EXAMPLE === undefined) throw new Error('no example');
    const length = Math.max(0, Math.min(limit, most, total - offset));
    const items = Array.from({ length }, (_, at) => ({ ...EXAMPLE, unit_id: `u${offset + at}` }));
    return { items, total, next_offset: offset + length < total ? offset + length : null };
  };
  return { read, asked };
}

async function scan(
  { read }: { readonly read: ReadUnits },
  isWanted: (id: string) => boolean,
  { from = 0, enough = Infinity }: { readonly from?: number; readonly enough?: number } = {},
): Promise<{ found: number[]; end: ScanProgress | null }> {
  const found: FoundUnit[] = [];
  const end = await scanUnits({
    read,
    from,
    enough,
    isWanted: ({ unit_id: id }) => isWanted(id),
    onPage: (page) => found.push(...page),
    signal: new AbortController().signal,
  });
  return { found: found.map(({ index }) => index), end };
}

describe('a search in the units of a container', () => {
  it('tells where the matches are, also when pages end early', async () => {
    const { found, end } = await scan(container(2500, 700), (id) => id === 'u3' || id === 'u2499');
    expect(found).toEqual([3, 2499]);
    expect(end).toEqual({ read: 2500, total: 2500, next: null });
  });

  it('ends with enough matches, and continues from there', async () => {
    const units = container(5000);
    const first = await scan(units, (id) => id.endsWith('00'), { enough: 5 });
    expect([first.found.length, first.end?.next]).toEqual([9, 1000]);
    const next = await scan(units, (id) => id.endsWith('00'), { from: 1000, enough: 1 });
    expect(next.found[0]).toBe(1000);
  });

  it('reads a bounded part of a container of a million', async () => {
    const units = container(1_000_000, 900);
    const { end } = await scan(units, () => false);
    expect(end).toEqual({ read: SCAN_LIMIT, total: 1_000_000, next: SCAN_LIMIT });
    expect(Math.max(...units.asked)).toBeLessThanOrEqual(1000);
  });

  it('goes on in the next container, also behind an empty one', async () => {
    const read = readAcross(
      [container(0), container(1500, 900), container(0), container(3)].map((each) => each.read),
    );
    const across = await scan({ read }, () => true);
    expect(across.end).toEqual({ read: 1503, total: 1503, next: null });
    expect(new Set(across.found).size).toBe(1503);
    const some = await scan({ read }, () => true, { enough: 1000 });
    const rest = await scan({ read }, () => true, { from: some.end?.next ?? -1 });
    expect([...some.found, ...rest.found]).toEqual(across.found);
    expect((await scan({ read: readAcross([]) }, () => true)).end?.read).toBe(0);
  });

  it('stops when the person stops it', async () => {
    const stop = new AbortController();
    const { read } = container(5000);
    const pages: number[] = [];
    const end = await scanUnits({
      read,
      from: 0,
      enough: Infinity,
      isWanted: () => true,
      onPage: (page) => {
        pages.push(page.length);
        stop.abort();
      },
      signal: stop.signal,
    });
    expect([end, pages]).toEqual([null, [1000]]);
  });
});

describe('the filters of the units of a task', () => {
  function unit(source: string, change: Partial<NonNullable<Unit['translation']>>): Unit {
    if (EXAMPLE?.translation === undefined || EXAMPLE.translation === null) throw new Error('no example');
    return {
      ...EXAMPLE,
      source_text: source,
      translation: { ...EXAMPLE.translation, findings: [], hold: null, ...change },
    };
  }

  const UNITS = [
    unit('先生、おはよう', { state: 'untranslated', target_text: null }),
    unit('ＡＲＯＮＡです', { state: 'draft', target_text: 'Good Morning' }),
    unit('はい', { state: 'stale', target_text: 'Yes' }),
    unit('いいえ', {
      state: 'proofread',
      target_text: 'No',
      hold: { reviewer: 'rin', reason: null, at: 1 },
    }),
  ];

  const select = (state: string, text = ''): number[] => {
    const matches = unitMatcher({ state, text });
    return UNITS.flatMap((each, at) => (matches(each) ? [at] : []));
  };

  it('select a state, units that need work, and those on hold', () => {
    expect(select('')).toEqual([0, 1, 2, 3]);
    expect(select('draft')).toEqual([1]);
    expect(select('open')).toEqual([0, 2]);
    expect(select('held')).toEqual([3]);
    expect(select('findings')).toEqual([]);
    expect(select('of a newer daemon')).toEqual([]);
  });

  it('count a returned unit as work, until the person stores another text', () => {
    const returned = { reviewer: 'rin', reason: 'keep no kana', at: 1 };
    const back = unit('はい', { state: 'draft', target_text: 'Yes', revision: 3, returned });
    for (const state of ['open', 'returned']) expect(unitMatcher({ state, text: '' })(back)).toBe(true);
    expect(unitMatcher({ state: 'open', text: '' })(unit('はい', { state: 'draft' }))).toBe(false);
    expect(returnOf(back, undefined)).toEqual(returned);
    const { task_id: taskId, ...base } = { task_id: 't', revision: 4, source: 'はい', target: 'Yep' };
    const stored: UnitDraft = {
      taskId,
      unitId: back.unit_id,
      base,
      text: 'Yep',
      phase: { kind: 'saved', at: 2, state: 'draft' },
    } as UnitDraft;
    expect(needsWork(back, stored)).toBe(false);
  });

  it('mark a unit with its most serious finding, waived ones aside', () => {
    const finding = (check: string, severity: 'error' | 'warning') => ({
      check,
      severity,
      origin: 'target' as const,
      message: '',
      waivable: true,
      source_span: null,
      target_span: null,
    });
    const findings = [finding('kana_residue', 'warning'), finding('tag_mismatch', 'error')];
    const waiver = { check: 'tag_mismatch', reviewer: 'rin', reason: 'ok', token_id: null, at: 1 };
    expect(findingMark(unit('a', { findings }))).toEqual({ tone: 'bad', count: 2 });
    expect(findingMark(unit('a', { findings, waivers: [waiver] }))).toEqual({ tone: 'warn', count: 1 });
    expect(findingMark(unit('a', {}))).toBe(null);
  });

  it('search in the source and the target, without the case and width of letters', () => {
    expect(select('', 'おはよう')).toEqual([0]);
    expect(select('', 'arona')).toEqual([1]);
    expect(select('', ' good MORNING ')).toEqual([1]);
    expect(select('proofread', 'no')).toEqual([3]);
    expect(select('draft', 'yes')).toEqual([]);
  });

  it('are off without a choice', () => {
    expect(isFiltering({ state: '', text: '  ' })).toBe(false);
    expect(isFiltering({ state: 'draft', text: '' })).toBe(true);
    expect(UNIT_FILTERS.map(({ name }) => name)).toEqual(['state', 'q']);
  });
});

function history(...items: ReadonlyArray<readonly [text: string, state: string]>): UnitHistory {
  return {
    is_cut: false,
    items: items.map(([target_text, state]) => ({ target_text, state })),
  } as UnitHistory;
}

describe('the review of a task', () => {
  function unit(change: Partial<NonNullable<Unit['translation']>> | null): Unit {
    if (EXAMPLE?.translation === undefined || EXAMPLE.translation === null) throw new Error('no example');
    return { ...EXAMPLE, translation: change === null ? null : { ...EXAMPLE.translation, ...change } };
  }

  describe('the ticks of a reviewer', () => {
    it('leave a unit that has changed since, and units that are not shown', () => {
      const [one, two, three] = [1, 2, 3].map((id) => ({ ...unit({ revision: 4 }), unit_id: `tu1_${id}` }));
      if (one === undefined || two === undefined || three === undefined) throw new Error('no units');
      const read = tick([one, two, three]);
      expect(tickedOf([one, two], read)).toEqual([one, two]);
      const changed = { ...unit({ revision: 5, target_text: 'another' }), unit_id: two.unit_id };
      expect(tickedOf([one, changed], read)).toEqual([one]);
    });
  });

  describe('a unit that waits for a review', () => {
    it('was submitted, or is a draft or has findings where these are wanted', () => {
      const scopes = ['translated', 'drafts', 'findings'] as const;
      const waits = (change: Parameters<typeof unit>[0]): boolean[] =>
        scopes.map((scope) => isWaiting(unit(change), scope));
      expect(waits({ state: 'translated' })).toEqual([true, true, false]);
      expect(waits({ state: 'draft' })).toEqual([false, true, false]);
      expect(waits({ state: 'proofread' })).toEqual([false, false, false]);
      expect(waits({ state: 'untranslated', target_text: null })).toEqual([false, false, false]);
      expect(waits(null)).toEqual([false, false, false]);
    });

    it('is decided on with the text and the revision that were read', () => {
      expect(readTargetOf(unit({ task_id: 'tt_1', target_text: 'x', revision: 7 }))).toMatchObject({
        taskId: 'tt_1',
        text: 'x',
        revision: 7,
      });
      expect(readTargetOf(unit({ target_text: null }))).toBeNull();
    });

    it('is in a sample by its risk, and by chance among equals', () => {
      const units: Unit[] = Array.from({ length: 20 }, (_, at) => ({
        ...unit({ state: 'translated' }),
        unit_id: `u${(at * 7) % 20}`,
        source_text: 'short',
        placeholders: [],
      }));
      const [, , risky, , marked] = units;
      if (risky?.translation === undefined || risky.translation === null || marked === undefined)
        throw new Error('no units');
      const finding = { check: 'length_ratio', origin: 'target', severity: 'warning' } as const;
      const findings = [{ ...finding, message: '', waivable: true, source_span: null, target_span: null }];
      units[2] = { ...risky, translation: { ...risky.translation, findings } };
      units[4] = { ...marked, placeholders: ['{0}'] };
      expect(riskiest(units, 0.1).map(({ unit_id: id }) => id)).toEqual([risky.unit_id, marked.unit_id]);
      expect(riskiest(units.toReversed(), 0.2)).toEqual(riskiest(units, 0.2));
      expect(riskiest(units.slice(0, 1), 0.1)).toHaveLength(1);
      expect(riskiest([], 0.1)).toEqual([]);
    });

    it('is compared with what readers had before', () => {
      expect(
        previousTarget(history(['a', 'draft'], ['b', 'proofread'], ['c', 'draft'], ['d', 'draft']), 'd'),
      ).toBe('b');
      expect(previousTarget(history(['a', 'draft'], ['b', 'draft']), 'b')).toBe('a');
      expect(previousTarget(history(['a', 'draft']), 'a')).toBeNull();
      expect(previousTarget(null, 'a')).toBeNull();
    });
  });

  it('keeps its list of files, and counts those that came later', () => {
    const files = (...names: readonly string[]): Parameters<typeof newFiles>[0] => ({
      title: '',
      key: names.join(' '),
      scope: 'translated',
      containers: names.map((destination) => ({ destination })),
    });
    expect(newFiles(files('a', 'b'), files('b', 'c', 'd'))).toBe(2);
    expect(newFiles(files('a', 'b'), files('b'))).toBe(0);
  });

  describe('a decision about repetitions that the decision about another file has written', () => {
    const unit = (id: string, { text = 'はい', revision = 1, state = 'draft', from = '' } = {}) => ({
      ...EXAMPLE!,
      unit_id: id,
      translation: {
        ...EXAMPLE!.translation!,
        target_text: text,
        revision,
        state: state as 'draft',
        propagated_from: from === '' ? null : from,
      },
    });
    const byId = (...units: readonly Unit[]) => new Map(units.map((each) => [each.unit_id, each]));
    const read = byId(unit('a'), unit('b'), unit('c'));
    const targets = [...read.values()].flatMap((each) => readTargetOf(each) ?? []);
    const repeated = unit('b', { revision: 2, state: 'translated', from: 'x' });
    const accepted = unit('c', { revision: 3, state: 'proofread', from: 'x' });
    const changed = new ApiFailure('changed', { status: 409, problem: { code: 'revision_changed' } });

    /** Sends the decision to a daemon that gives these answers, `null` for a stored call, and has these units now. */
    async function send(
      decision: 'accepted' | 'returned',
      answers: (ApiFailure | null)[],
      seen: readonly Unit[] | ApiFailure,
    ) {
      const calls: string[][] = [];
      const outcome = await sendDecisions(targets, {
        decision,
        read,
        post: async (call) => {
          calls.push(call.map(({ unitId, revision }) => `${unitId}:${revision}`));
          const answer = answers.shift() ?? null;
          if (answer !== null) throw answer;
          return await Promise.resolve();
        },
        readerOf: () => async () => {
          if (seen instanceof ApiFailure) throw seen;
          return await Promise.resolve({ items: seen, total: seen.length, next_offset: null });
        },
      });
      return { ...outcome, decided: [...outcome.decided].toSorted(), calls };
    }

    it('is sent again for those that have the text that was read and not the decision', async () => {
      const present = [unit('a'), repeated, accepted];
      expect(await send('accepted', [changed], present)).toMatchObject({
        calls: [
          ['a:1', 'b:1', 'c:1'],
          ['a:1', 'b:2'],
        ],
        decided: ['a', 'b', 'c'],
        failure: null,
      });
      // An accepted one is not returned yet.
      expect((await send('returned', [changed], present)).calls[1]).toEqual(['a:1', 'b:2', 'c:3']);
    });

    it('is not sent again for those that somebody has written', async () => {
      const byHand = unit('b', { revision: 2 });
      const another = unit('b', { revision: 2, text: 'いいえ', from: 'x' });
      for (const other of [byHand, another]) {
        const sent = await send('accepted', [changed], [unit('a'), other, accepted]);
        expect(sent).toMatchObject({ calls: { length: 1 }, decided: [], failure: changed });
      }
    });

    it('says what is decided, what may be, and why, when a later answer fails', async () => {
      const later = new ApiFailure('no answer');
      const present = [unit('a'), repeated, accepted];
      expect(await send('accepted', [changed, later], present)).toMatchObject({
        decided: ['c'],
        failure: later,
        unsure: 2,
      });
      // A refusal names units by their place in the last call, which has no unit that is decided.
      const first = unit('a', { revision: 3, state: 'proofread', from: 'x' });
      const errors = [{ pointer: '/translation_results/0', message: 'someone holds it' }];
      const held = new ApiFailure('held', { status: 409, problem: { code: 'lease_held', errors } });
      const refused = await send('accepted', [changed, held], [first, repeated, unit('c')]);
      expect(refused).toMatchObject({ decided: ['a'], refused: new Map([['b', 'someone holds it']]) });
      // The units cannot be read again, and the refusal is still one.
      expect(await send('accepted', [changed], later)).toMatchObject({ failure: changed, unsure: 0 });
    });

    it('has not reached the server when a proxy wants a sign-in', async () => {
      const signedOut = new ApiFailure('sign in', { isSignedOut: true });
      expect(await send('accepted', [signedOut], [])).toMatchObject({ failure: signedOut, unsure: 0 });
    });
  });

  describe('a refused review', () => {
    const sent = ['tu1_aaaa', 'tu1_bbbb', 'tu1_cccc'].map((unitId) => ({
      taskId: 'tt_1',
      unitId,
      source: 's',
      text: 't',
      revision: 1,
    }));
    const read = (message: string, errors: Problem['errors'] = []): ReadonlyMap<string, string> =>
      refusalsOf({ message, problem: { errors } } as ApiFailure, sent);

    it('says which units refuse it, by their place or by their name', () => {
      expect([
        ...read('no', [
          { pointer: '/translation_results/1/translated_text', message: 'is not the stored target' },
          { pointer: '/args/2', message: 'tu1_cccc has revision 4, not 1' },
        ]),
      ]).toEqual([
        ['tu1_bbbb', 'is not the stored target'],
        ['tu1_cccc', 'has revision 4, not 1'],
      ]);
    });

    it('takes the units from the detail when there is no list, and only those that were sent', () => {
      expect([...read('tu1_aaaa, tu1_zzzz must be accepted with another token').keys()]).toEqual([
        'tu1_aaaa',
      ]);
    });
  });
});

const task = (status: 'in_progress' | 'superseded' | 'skipped', counts: Record<string, number>) =>
  ({ status, unit_counts: counts }) as unknown as Parameters<typeof isSubmitOffered>[0];

describe('a task that is submitted', () => {
  it('gives its drafts to the reviewer when each unit has a usable target', () => {
    expect(submitPlanOf({ draft: 3, translated: 2, proofread: 1 })).toEqual({ drafts: 3, missing: [] });
  });

  it('names the units for which the daemon refuses it, by their state', () => {
    const { missing } = submitPlanOf({ draft: 3, untranslated: 4, stale: 1, blocked: 2 });
    expect(missing.map(({ state, units }) => [state, units])).toEqual([
      ['untranslated', 4],
      ['stale', 1],
      ['blocked', 2],
    ]);
  });

  it.each([
    ['in_progress', { draft: 1 }, true],
    ['in_progress', { untranslated: 1 }, true],
    ['in_progress', { translated: 5, proofread: 1 }, false],
    ['skipped', { draft: 1 }, false],
    ['superseded', { draft: 1 }, false],
  ] as const)('is offered where something can be submitted (%s, %o)', (status, counts, isOffered) => {
    expect(isSubmitOffered(task(status, counts))).toBe(isOffered);
  });
});

describe('the lists of the room Translate', () => {
  it('count with the noun that fits', () => {
    expect([0, 1, 2].map((units) => counted(units, 'unit has', 'units have'))).toEqual([
      '0 units have',
      '1 unit has',
      '2 units have',
    ]);
    expect(counted(1, 'task')).toBe('1 task');
  });

  it('search a file by a part of its path, and take a pattern as it is', () => {
    expect(filePattern('Scene0008')).toBe('*Scene0008*');
    expect(filePattern('Scenario/**')).toBe('Scenario/**');
  });

  it('offer a proposal of the memory once, with its best match', () => {
    const matchesOf = (texts: readonly string[], state: string) =>
      texts.map((text, at) => ({ proposed_text: text, at, record: { state } }));
    const matches = matchesOf(['a', 'b', 'a', 'c', 'b'], 'candidate');
    expect(distinctMatches(matches).map(({ at }) => at)).toEqual([0, 1, 3]);
    // Half a sentence is not offered, unless a person has accepted it.
    const typed = ['请', '请照顾', '请照顾他。'];
    expect(distinctMatches(matchesOf(typed, 'candidate')).map(({ at }) => at)).toEqual([2]);
    expect(distinctMatches(matchesOf(typed, 'trusted')).map(({ at }) => at)).toEqual([0, 1, 2]);
  });
});
