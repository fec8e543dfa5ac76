import { describe, expect, it } from 'vitest';
import { REPORTS } from '../../../../src/contract/reports/reports.ts';
import {
  findingMark,
  needsWork,
  returnOf,
  type Unit,
} from '../../../../src/console/translate/editor/unit.ts';
import type { UnitDraft } from '../../../../src/console/translate/editor/unit-draft.ts';
import {
  isFiltering,
  UNIT_FILTERS,
  unitMatcher,
} from '../../../../src/console/translate/editor/unit-filter.ts';

const [EXAMPLE] = REPORTS['parse.text_units'].answer.schema.parse(
  REPORTS['parse.text_units'].answer.example,
).items;

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

describe('the filters of the units of a task', () => {
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
