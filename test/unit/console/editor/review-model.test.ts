import { describe, expect, it } from 'vitest';
import { REPORTS } from '../../../../src/contract/reports/reports.ts';
import type { Problem } from '../../../../src/console/api/wire.ts';
import type { Unit, UnitHistory } from '../../../../src/console/translate/editor/unit.ts';
import {
  isWaiting,
  previousTarget,
  readTargetOf,
  refusalsOf,
  tick,
  tickedOf,
} from '../../../../src/console/translate/review/review-model.ts';

const [EXAMPLE] = REPORTS['parse.text_units'].answer.schema.parse(
  REPORTS['parse.text_units'].answer.example,
).items;

function unit(change: Partial<NonNullable<Unit['translation']>> | null): Unit {
  if (EXAMPLE?.translation === undefined || EXAMPLE.translation === null) throw new Error('no example');
  return { ...EXAMPLE, translation: change === null ? null : { ...EXAMPLE.translation, ...change } };
}

function history(...items: ReadonlyArray<readonly [text: string, state: string]>): UnitHistory {
  return {
    is_cut: false,
    items: items.map(([target_text, state]) => ({ target_text, state })),
  } as UnitHistory;
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
  it('was handed in, or is a draft or has findings where these are wanted', () => {
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

  it('is compared with what readers had before', () => {
    expect(
      previousTarget(history(['a', 'draft'], ['b', 'proofread'], ['c', 'draft'], ['d', 'draft']), 'd'),
    ).toBe('b');
    expect(previousTarget(history(['a', 'draft'], ['b', 'draft']), 'b')).toBe('a');
    expect(previousTarget(history(['a', 'draft']), 'a')).toBeNull();
    expect(previousTarget(null, 'a')).toBeNull();
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
    refusalsOf({ message, problem: { errors } }, sent).byUnit;

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
    expect([...read('tu1_aaaa, tu1_zzzz must be accepted with another token').keys()]).toEqual(['tu1_aaaa']);
  });
});
