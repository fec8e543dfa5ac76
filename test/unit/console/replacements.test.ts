import { describe, expect, it } from 'vitest';
import { ApiFailure } from '../../../src/console/api/api-client.ts';
import { callsOf } from '../../../src/console/translate/editor/draft/update-bodies.ts';
import {
  replaceBody,
  replacementsIn,
  restoreBody,
  restored,
  sendReplacements,
  type Replacement,
  type SentReplacements,
} from '../../../src/console/translate/search/replace.ts';
import type { Unit } from '../../../src/console/translate/editor/unit.ts';

const NONE = new Map<string, string>();

function unit(id: string, target: string | null, more: Partial<Record<string, unknown>> = {}): Unit {
  const { task_id: task = 'tt_1', revision = 3, propagated_from: from = null, ...fields } = more;
  return {
    unit_id: id,
    destination: 'a.json',
    archive_entry: null,
    ordinal: 0,
    source_text: `source of ${id}`,
    is_cut: false,
    translation: {
      task_id: task,
      target_text: target,
      revision,
      propagated_from: from,
      state: 'draft',
      is_cut: false,
    },
    ...fields,
  } as unknown as Unit;
}

interface Body {
  readonly args: readonly string[];
  readonly translation_results: readonly { readonly unit_id: string; readonly translated_text: string }[];
}

/** A daemon that gives one answer after another; `null`: it stores the call. */
function daemon(answers: (ApiFailure | null)[], present: readonly Unit[] = []) {
  const sent: Body[] = [];
  const pauses: number[] = [];
  const send = async (targets: readonly Replacement[]): Promise<SentReplacements> =>
    await sendReplacements(targets, {
      bodyOf: (call) => replaceBody(call, { run: 'r1', person: '' }),
      post: async (body) => {
        await Promise.resolve();
        sent.push(body as Body);
        const answer = answers.shift() ?? null;
        if (answer !== null) throw answer;
        const units = (body as Body).translation_results.map(({ unit_id }) => ({ unit_id, revision: 9 }));
        return { result: { units } };
      },
      readerOf: () => async () =>
        await Promise.resolve({ items: present, total: present.length, next_offset: null }),
      pause: async (seconds) => {
        pauses.push(seconds);
        await Promise.resolve();
      },
    });
  return { send, sent, pauses };
}

function refusal(code: string, detail: string): ApiFailure {
  return new ApiFailure(detail, { status: 409, problem: { code, detail } });
}

function idsOf(targets: readonly Replacement[]): readonly string[] {
  return targets.map(({ unitId }) => unitId);
}

describe('the replacement of a text in many translations', () => {
  it('takes the text as it is, also signs that mean something elsewhere, and leaves the others out', () => {
    const units = [
      unit('a', 'Teacher, teacher'),
      unit('b', null),
      unit('c', 'nothing of it'),
      unit('d', 'Teacher', { is_cut: true }),
      unit('e', 'Teacher', { task_id: null }),
      unit('f', 'Teacher'),
    ];
    expect(
      replacementsIn(units, 'Teacher', '$& Sensei', NONE).map(({ unitId, text }) => [unitId, text]),
    ).toEqual([
      ['a', '$& Sensei, teacher'],
      ['f', '$& Sensei'],
    ]);
    // No translation becomes empty by it.
    expect(replacementsIn(units, 'Teacher', '', NONE).map(({ unitId }) => unitId)).toEqual(['a']);
    expect(replacementsIn(units, '', 'x', NONE)).toEqual([]);
  });

  it('replaces nothing in what it has replaced', () => {
    const units = [unit('a', 'archmage'), unit('b', 'mage')];
    const sent = new Map([
      ['a', 'archmage'],
      ['b', 'archmage'],
    ]);
    expect(idsOf(replacementsIn(units, 'mage', 'archmage', sent))).toEqual(['b']);
  });

  it('is sent by task, in calls that the service takes', () => {
    const many = Array.from({ length: 1000 }, (_, at) => unit(`u${at}`, 'x'));
    const units = [
      ...many,
      unit('other', 'x', { task_id: 'tt_2' }),
      unit('long', 'x' + '界'.repeat(310_000)),
    ];
    const calls = callsOf(replacementsIn(units, 'x', 'y', NONE));
    expect(calls.map((call) => [call[0]?.taskId, call.length])).toEqual([
      ['tt_1', 900],
      ['tt_1', 100],
      ['tt_1', 1],
      ['tt_2', 1],
    ]);
    expect(callsOf([])).toEqual([]);
  });

  it('says which translations the findings block afterwards', async () => {
    const call = replacementsIn([unit('a', 'old text'), unit('b', 'old')], 'old', 'new', NONE);
    const state = (id: string): string => (id === 'b' ? 'blocked' : 'draft');
    const { stored, blocked } = await sendReplacements(call, {
      bodyOf: (targets) => replaceBody(targets, { run: 'r1', person: '' }),
      post: async () => {
        const units = call.map(({ unitId }) => ({ unit_id: unitId, revision: 4, state: state(unitId) }));
        return await Promise.resolve({ result: { units } });
      },
      readerOf: () => () => Promise.reject(new Error('nothing is read again')),
      pause: () => Promise.resolve(),
    });
    expect(stored.map(({ unitId, revision }) => [unitId, revision])).toEqual([
      ['a', 4],
      ['b', 4],
    ]);
    expect(blocked.map(({ unitId }) => unitId)).toEqual(['b']);
  });

  it('overwrites nothing newer, and is put back from where it came', () => {
    const call = replacementsIn([unit('a', 'old text'), unit('b', 'old')], 'old', 'new', NONE);
    expect(replaceBody(call, { run: 'r1', person: 'kana' })).toEqual({
      task_id: 'tt_1',
      worker_id: 'kana',
      args: ['expect=a:3', 'expect=b:3'],
      translation_results: [
        { unit_id: 'a', source_text: 'source of a', translated_text: 'new text' },
        { unit_id: 'b', source_text: 'source of b', translated_text: 'new' },
      ],
      provider: 'replace',
      provider_run_id: 'r1',
    });
    expect(
      restoreBody(
        restored(call.slice(0, 1)).map((each) => ({ ...each, revision: 4 })),
        '',
      ),
    ).toEqual({
      task_id: 'tt_1',
      args: ['expect=a:4'],
      translation_results: [{ unit_id: 'a', source_text: 'source of a', translated_text: 'old text' }],
      provider: 'undo',
    });
  });

  it('has not reached the server when a proxy wants a sign-in, unless a call before it got no answer', async () => {
    const targets = replacementsIn([unit('tu1_aa', 'x')], 'x', 'y', NONE);
    const signedOut = new ApiFailure('sign in', { isSignedOut: true });
    const kept = await daemon([signedOut]).send(targets);
    expect([kept.refused.map(({ why }) => why), kept.unsure]).toEqual([['sign in'], []]);
    const lost = await daemon([new ApiFailure('no answer'), signedOut]).send(targets);
    expect([lost.refused, idsOf(lost.unsure)]).toEqual([[], ['tu1_aa']]);
  });

  it('leaves out the units that somebody has claimed, and sends the others', async () => {
    const targets = replacementsIn([unit('tu1_aa', 'x'), unit('tu1_bb', 'x')], 'x', 'y', NONE);
    const { send, sent } = daemon([refusal('lease_held', 'rin holds the unit tu1_aa until noon')]);
    const { stored, refused } = await send(targets);
    expect(sent.map(({ args }) => args)).toEqual([
      ['expect=tu1_aa:3', 'expect=tu1_bb:3'],
      ['expect=tu1_bb:3'],
    ]);
    expect(stored.map(({ unitId, revision }) => [unitId, revision])).toEqual([['tu1_bb', 9]]);
    expect(refused.map(({ target, why }) => [target.unitId, why])).toEqual([
      ['tu1_aa', 'rin holds the unit tu1_aa until noon'],
    ]);
  });

  it('reads changed units again: repetitions are replaced, the work of a person is not', async () => {
    const targets = replacementsIn(
      ['same', 'repeated', 'typed', 'gone', 'still'].map((id) => unit(id, 'mage')),
      'mage',
      'archmage',
      NONE,
    );
    const { send, sent } = daemon(
      [refusal('revision_changed', 'same has revision 4, not 3')],
      [
        unit('same', 'archmage', { revision: 4, propagated_from: 'tu1_x' }),
        unit('repeated', 'mage', { revision: 5, propagated_from: 'tu1_x' }),
        unit('typed', 'a mage', { revision: 4 }),
        unit('still', 'mage'),
      ],
    );
    const { stored, same, changed } = await send(targets);
    expect(sent[1]?.args).toEqual(['expect=repeated:5', 'expect=still:3']);
    expect([idsOf(stored), idsOf(same), idsOf(changed)]).toEqual([
      ['repeated', 'still'],
      ['same'],
      ['typed', 'gone'],
    ]);
  });

  it('sends the same body again after a lost answer, and says what may be stored', async () => {
    const targets = replacementsIn([unit('a', 'x')], 'x', 'y', NONE);
    const lost = (): ApiFailure => new ApiFailure('no answer', { retryAfter: 600 });
    const once = daemon([lost()]);
    expect(idsOf((await once.send(targets)).stored)).toEqual(['a']);
    expect(once.sent[1]).toEqual(once.sent[0]);
    expect(once.pauses).toEqual([30]);
    const never = daemon([lost(), lost(), lost()]);
    expect(idsOf((await never.send(targets)).unsure)).toEqual(['a']);
    expect(never.sent).toHaveLength(3);
  });

  it('goes on with the next file after a refusal, and ends when nothing can be left out', async () => {
    const targets = replacementsIn([unit('a', 'x'), unit('b', 'x', { task_id: 'tt_2' })], 'x', 'y', NONE);
    const superseded = daemon([refusal('task_superseded', 'the task was replaced')]);
    const { refused, stored } = await superseded.send(targets);
    expect([refused.map(({ why }) => why), idsOf(stored)]).toEqual([['the task was replaced'], ['b']]);
    const unclear = daemon([refusal('revision_changed', 'x')], [unit('a', 'x')]);
    expect((await unclear.send(targets.slice(0, 1))).refused).toHaveLength(1);
    expect(unclear.sent).toHaveLength(1);
  });
});
