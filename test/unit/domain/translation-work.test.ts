import { endedAs, runBrief } from '../../../src/domain/translation/run-brief.ts';
import * as fc from 'fast-check';
import { assert, constantFrom, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TRANSLATION_STATUSES } from '../../../src/contract/schemas/vocabulary.ts';
import { normalText } from '../../../src/domain/text/normal-text.ts';
import { smallerBatches, splitIntoBatches } from '../../../src/domain/translation/batches.ts';
import {
  carryTarget,
  type CarriedTarget,
  type CarriedTier,
} from '../../../src/domain/translation/carry-over.ts';
import { isOwnWork, soleTokenOf } from '../../../src/domain/translation/four-eyes.ts';
import {
  MASK_STYLES,
  maskAlike,
  maskPlaceholders,
  restorePlaceholders,
} from '../../../src/domain/translation/placeholder-mask.ts';
import {
  countedUnits,
  coverageOf,
  noOutcomes,
  publishOutcome,
} from '../../../src/domain/translation/publish-outcome.ts';
import { guessTextKind, type TextKind } from '../../../src/domain/translation/kind-of-text.ts';
import { fieldClass, repetitionKey } from '../../../src/domain/translation/repetition.ts';
import { requalify } from '../../../src/domain/translation/requalify.ts';
import {
  FIXED_STATUSES,
  isClosed,
  nextStatuses,
  taskStatus,
} from '../../../src/domain/translation/task-status.ts';
import { noUnits, UNIT_STATES, type UnitState } from '../../../src/domain/translation/unit-state.ts';
import { campaignSize } from '../../support/long.ts';

const sizes = fc.record({
  units: fc.integer({ min: 1, max: 20 }),
  characters: fc.integer({ min: 1, max: 100 }),
});

describe('the batches of a provider', () => {
  const units = fc
    .array(fc.integer({ min: 0, max: 50 }), { maxLength: 60 })
    .map((lengths) =>
      lengths.map((length, index) => ({ unitId: `u${index}`, sourceText: 'x'.repeat(length) })),
    );

  it('puts each unit in one batch, in order and within the size', () => {
    fc.assert(
      fc.property(units, sizes, (all, size) => {
        const batches = [...splitIntoBatches(all, size)];
        expect(batches.flat()).toEqual(all);
        for (const batch of batches) {
          const characters = batch.reduce((sum, { sourceText }) => sum + sourceText.length, 0);
          expect(batch.length).toBeGreaterThan(0);
          expect(batch.length).toBeLessThanOrEqual(size.units);
          expect(batch.length === 1 || characters <= size.characters).toBe(true);
        }
      }),
    );
  });

  it('asks again for each unit once, and always for fewer', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 0, max: 99 }), (asked, good) => {
        const left = Array.from({ length: Math.max(1, asked - good) }, (_, index) => index);
        const batches = smallerBatches(asked, left);
        expect(batches.flat()).toEqual(left);
        for (const batch of batches) expect(batch.length === 1 || batch.length < asked).toBe(true);
      }),
    );
  });
});

const TIERS: readonly CarriedTier[] = ['same', 'moved', 'unique', 'changed', 'new'];

const target = fc.record({
  state: fc.constantFrom(...UNIT_STATES),
  fitsSource: fc.boolean(),
  stateBefore: fc.constantFrom('draft', 'translated', 'proofread', 'blocked', null),
}) satisfies fc.Arbitrary<CarriedTarget>;

describe('carrying a target over', () => {
  it('property: a target for another text is never kept, whatever the tier says', () => {
    fc.assert(
      fc.property(fc.constantFrom(...TIERS), target, (tier, before) => {
        const { state } = carryTarget(tier, before);
        if (!before.fitsSource) expect(['stale', 'untranslated']).toContain(state);
        else expect(state).not.toBe('stale');
      }),
    );
  });

  it('property: a review stays only with an equal text and place, and nothing gains one', () => {
    fc.assert(
      fc.property(fc.constantFrom(...TIERS), target, (tier, before) => {
        const { state } = carryTarget(tier, before);
        if (state !== 'proofread') return;
        expect(['same', 'moved']).toContain(tier);
        expect(before.state).toBe('proofread');
      }),
    );
  });

  it.each([
    ['same', 'proofread', 'proofread'],
    ['moved', 'proofread', 'proofread'],
    ['unique', 'proofread', 'translated'],
    ['unique', 'draft', 'draft'],
    ['unique', 'blocked', 'blocked'],
    ['same', 'draft', 'draft'],
  ] as const)('%s makes %s to %s', (tier, state, expected) => {
    expect(carryTarget(tier, { state, fitsSource: true, stateBefore: null }).state).toBe(expected);
  });

  it('gives a text that comes back at most `translated`, and a blocked one its block', () => {
    const changed = carryTarget('changed', { state: 'proofread', fitsSource: false, stateBefore: null });
    expect(changed).toEqual({ state: 'stale', stateBefore: 'proofread' });
    expect(carryTarget('changed', { ...changed, fitsSource: true })).toEqual({
      state: 'translated',
      stateBefore: null,
    });
    const blocked = carryTarget('changed', { state: 'blocked', fitsSource: false, stateBefore: null });
    expect(carryTarget('changed', { ...blocked, fitsSource: true }).state).toBe('blocked');
  });
});

describe('the four-eyes rule', () => {
  describe('the own work of a token', () => {
    it.each([
      ['person', 'ann', 'ann', true],
      ['import', 'ann', 'rin', false],
      ['person', null, null, true],
      ['machine', null, null, false],
      ['machine', 'ann', 'ann', true],
      ['memory', null, 'ann', false],
      ['memory', 'ann', 'ann', true],
      ['memory', 'ann', 'rin', false],
    ] as const)('a target of %s with the token %s, for %s: %s', (kind, tokenId, reviewer, isOwn) => {
      expect(isOwnWork({ kind, tokenId }, reviewer)).toBe(isOwn);
    });
  });

  describe('the token that alone stands for a record', () => {
    it.each([
      ['a person who confirmed the own text', { kind: 'person', tokenId: 'ann' }, ['ann'], 'ann'],
      ['a person whose text nobody confirmed', { kind: 'person', tokenId: 'ann' }, [], 'ann'],
      ['a person whose text another one confirmed', { kind: 'person', tokenId: 'ann' }, ['rin'], null],
      ['a trusted import', { kind: 'import', tokenId: 'ann' }, ['ann'], 'ann'],
      ['a program with a token', { kind: 'machine', tokenId: 'ann' }, ['ann'], 'ann'],
      ['a machine whose text a person confirmed', { kind: 'machine', tokenId: null }, ['ann'], null],
      ['a copy of a reviewed record', { kind: 'memory', tokenId: null }, ['ann'], null],
      ['a person without a token, confirmed by another', { kind: 'person', tokenId: null }, ['ann'], null],
      ['an unknown author and one reviewer', null, ['ann'], 'ann'],
      ['an unknown author and two reviewers', null, ['ann', 'rin'], null],
      ['an unknown author and no reviewer', null, [], null],
    ] as const)('%s', (_, author, confirmedBy, token) => {
      expect(soleTokenOf({ author, confirmedBy })).toBe(token);
    });
  });
});

const pieces =
  '{0} {name:{1}} %d %1$s <b> </b> <color=#fff> [[1]] <x id="1"/> \uE000 \uE001 { } [[ ]] < > 1 \0 あ 😀 \uD800'
    .split(' ')
    .concat('[[ 2 ]]', '<x id="7" />', ' ', '\n');
const texts = fc
  .array(fc.oneof(fc.constantFrom(...pieces), fc.string()), { maxLength: 20 })
  .map((all) => all.join(''));

describe('masked placeholders', () => {
  describe.each(MASK_STYLES)('masks of the style %s', (style) => {
    const mask = (text: string) => maskPlaceholders(text, style)!;

    it('gives every text back', () => {
      fc.assert(
        fc.property(texts, (text) => {
          const masked = mask(text);
          expect(restorePlaceholders(masked.text, masked, style)).toEqual({ ok: true, value: text });
        }),
        { numRuns: campaignSize(500, 10_000) },
      );
    });

    it('hides every placeholder', () => {
      expect(mask('<b>{name}</b> has %d').text).not.toMatch(/name|%d|<b>|<\/b>/);
    });

    it('refuses a token that is lost, repeated, new or written out', () => {
      const masked = mask('{a} and {b}');
      const [first, second] = [mask('{a}').text, mask('{a}{b}').text.slice(mask('{a}').text.length)];
      const third = mask('{a}{b}{c}').text.slice(first.length + second.length);
      for (const wrong of [first, `${first}${second}${second}`, `${first}${second}${third}`, '{a} {b}', '']) {
        expect(restorePlaceholders(wrong, masked, style).ok, wrong).toBe(false);
      }
      expect(restorePlaceholders(`${second}, ${first}`, masked, style)).toEqual({
        ok: true,
        value: '{b}, {a}',
      });
    });

    it('gives equal placeholders one token and counts them', () => {
      const masked = mask('{a}{a}');
      expect(masked.originals).toEqual(['{a}']);
      expect(restorePlaceholders(mask('{a}').text, masked, style).ok).toBe(false);
    });

    it('masks an example with the same tokens, or not at all', () => {
      const { originals } = mask('{a} {b}');
      expect(maskAlike('{b}!', originals, style)).toBe(
        `${mask('{a}{b}').text.slice(mask('{a}').text.length)}!`,
      );
      expect(maskAlike('{c}', originals, style)).toBeNull();
    });

    it('refuses more placeholders than there are tokens', () => {
      const many = Array.from({ length: 6401 }, (_, index) => `{${index}}`);
      expect(maskPlaceholders(many.slice(1).join(''), style)).not.toBeNull();
      expect(maskPlaceholders(many.join(''), style)).toBeNull();
    });
  });

  it('takes a token with a space for the same token', () => {
    const masked = maskPlaceholders('{a}', 'xml')!;
    expect(restorePlaceholders('<x id="1" />', masked, 'xml')).toEqual({ ok: true, value: '{a}' });
  });
});

const FREE = { isHeld: false, isSkipped: false };

describe('the outcome of a publish', () => {
  describe('a unit in a localized release', () => {
    it.each([
      ['proofread', 'proofread', 'published'],
      ['translated', 'proofread', 'below_min_state'],
      ['translated', 'translated', 'published'],
      ['draft', 'translated', 'below_min_state'],
      ['draft', 'draft', 'published'],
      ['stale', 'draft', 'stale'],
      ['untranslated', 'draft', 'untranslated'],
      ['blocked', 'draft', 'blocked'],
    ] as const)('that is %s is, with the minimum %s, %s', (state, minState, outcome) => {
      expect(publishOutcome({ ...FREE, state }, minState)).toBe(outcome);
    });

    it.each([
      ['draft', 'translated', 'below_min_state'],
      ['translated', 'proofread', 'below_min_state'],
      ['translated', 'translated', 'blocked'],
      ['proofread', 'draft', 'blocked'],
    ] as const)('that is blocked, and else %s, is with the minimum %s %s', (freeState, minState, outcome) => {
      expect(publishOutcome({ ...FREE, state: 'blocked', freeState }, minState)).toBe(outcome);
    });

    it('blocks nothing when people took it out', () => {
      expect(publishOutcome({ state: 'blocked', isHeld: true, isSkipped: false }, 'draft')).toBe('held');
      expect(publishOutcome({ state: 'blocked', isHeld: true, isSkipped: true }, 'draft')).toBe('skipped');
      expect(publishOutcome({ state: 'proofread', isHeld: true, isSkipped: false }, 'draft')).toBe('held');
    });
  });

  describe('the coverage of a localized release', () => {
    it('does not count the units of skipped tasks', () => {
      const counts = { ...noOutcomes(), published: 3, held: 1, skipped: 10 };
      expect(countedUnits(counts)).toBe(4);
      expect(coverageOf(counts)).toBe(0.75);
    });

    it('is whole without any unit', () => {
      expect(coverageOf(noOutcomes())).toBe(1);
    });
  });
});

describe('repetitions', () => {
  it.each([
    ['/rows/0/TextJp', '/rows/*/TextJp'],
    ['m_Script#/rows/17/TextJp', 'm_Script#/rows/*/TextJp'],
    ['lines[3].text', 'lines[*].text'],
    ['row[Id=1001].text', 'row[*].text'],
    ['/chapter2/title', '/chapter2/title'],
    ['/rows/3', '/rows/*'],
  ])('%s is of the class %s', (path, expected) => {
    expect(fieldClass(path)).toBe(expected);
  });

  it('joins texts that differ in composition and line ends only, and trims nothing', () => {
    expect(normalText('か\u3099\r\n')).toBe('が\n');
    expect(normalText(' a ')).toBe(' a ');
  });

  it('keeps another speaker, class of field or text apart', () => {
    const unit = { sourceText: 'はい', speaker: 'アロナ', fieldPath: '/rows/1/TextJp' };
    expect(repetitionKey({ ...unit, fieldPath: '/rows/2/TextJp' })).toBe(repetitionKey(unit));
    const others = [{ speaker: null }, { fieldPath: '/rows/1/Name' }, { sourceText: 'はい。' }];
    for (const other of others) expect(repetitionKey({ ...unit, ...other })).not.toBe(repetitionKey(unit));
  });
});

describe('judging a stored target again', () => {
  it.each([
    ['proofread', null, true, { state: 'blocked', stateBefore: 'proofread' }],
    ['draft', null, true, { state: 'blocked', stateBefore: 'draft' }],
    ['translated', null, false, null],
    ['blocked', 'translated', false, { state: 'translated', stateBefore: null }],
    ['blocked', null, false, { state: 'draft', stateBefore: null }],
    ['blocked', 'proofread', true, null],
    ['stale', 'proofread', true, null],
    ['untranslated', null, true, null],
  ] as const)('%s, before %s, blocked %s', (state, stateBefore, isBlocked, expected) => {
    expect(requalify({ state, stateBefore }, isBlocked)).toEqual(expected);
  });

  it('property: a target that is blocked and freed has its state again', () => {
    assert(
      property(constantFrom('draft' as const, 'translated' as const, 'proofread' as const), (state) => {
        const blocked = requalify({ state, stateBefore: null }, true);
        expect(blocked === null ? null : requalify(blocked, false)).toEqual({ state, stateBefore: null });
      }),
    );
  });
});

describe('the status of a task', () => {
  const units = (counts: Partial<Record<UnitState, number>>) => ({ ...noUnits(), ...counts });

  it.each([
    [{ untranslated: 3 }, 'pending'],
    [{ stale: 3 }, 'pending'],
    [{ untranslated: 1, draft: 2 }, 'in_progress'],
    [{ stale: 1, proofread: 2 }, 'in_progress'],
    [{ draft: 1, proofread: 2 }, 'translated'],
    [{ proofread: 2 }, 'proofread'],
    [{ proofread: 2, blocked: 1 }, 'blocked'],
  ] as const)('of the units %j is %s', (counts, expected) => {
    expect(taskStatus({ stored: null, units: units(counts), isLeased: false, isGivenUp: false })).toBe(
      expected,
    );
  });

  it('is `in_progress` while a worker has a part of it, and what was asked for after that', () => {
    const facts = { units: units({ proofread: 1 }), isLeased: true, isGivenUp: false };
    expect(taskStatus({ ...facts, stored: null })).toBe('in_progress');
    expect(taskStatus({ ...facts, stored: 'pending' })).toBe('in_progress');
    expect(taskStatus({ ...facts, isLeased: false, stored: 'pending' })).toBe('pending');
  });

  it('property: a fixed status does not depend on the units', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...FIXED_STATUSES),
        fc.nat(3),
        fc.nat(3),
        fc.boolean(),
        (stored, a, b, isLeased) => {
          expect(
            taskStatus({ stored, units: units({ blocked: a, proofread: b }), isLeased, isGivenUp: isLeased }),
          ).toBe(stored);
        },
      ),
    );
  });

  it('is `failed` when workers have given up and no unit has a target', () => {
    const facts = { stored: null, isLeased: false, isGivenUp: true };
    expect(taskStatus({ ...facts, units: units({ untranslated: 2, stale: 1 }) })).toBe('failed');
    expect(taskStatus({ ...facts, units: units({ untranslated: 2, draft: 1 }) })).toBe('in_progress');
    expect(taskStatus({ ...facts, units: units({ untranslated: 2, blocked: 1 }) })).toBe('blocked');
    expect(taskStatus({ ...facts, stored: 'in_progress', units: units({ untranslated: 2 }) })).toBe(
      'in_progress',
    );
  });

  it('lets people continue a failed task, and programs only when someone has opened it', () => {
    expect(nextStatuses('failed', false)).toEqual([
      'pending',
      'in_progress',
      'translated',
      'failed',
      'skipped',
    ]);
    expect(nextStatuses('failed', true)).toEqual(['pending', 'failed', 'skipped']);
    expect(['failed', 'skipped', 'published', 'superseded', 'blocked'].filter(isClosed)).toEqual([
      'skipped',
      'superseded',
    ]);
  });

  it('lets people correct a published task', () => {
    expect(nextStatuses('published', false)).toEqual(['pending', 'in_progress', 'translated']);
  });

  it('cannot be changed in a task that is superseded', () => {
    expect(nextStatuses('superseded', false)).toEqual([]);
    expect(nextStatuses('skipped', false)).not.toContain('translated');
    const all = TRANSLATION_STATUSES.flatMap((from) => nextStatuses(from, false));
    expect(
      all.filter((status) => ['blocked', 'proofread', 'published', 'superseded'].includes(status)),
    ).toEqual([]);
  });
});

describe('the kind of a text', () => {
  const place = {
    destination: 'Tables/Data.json',
    archiveEntry: null,
    fieldPath: 'rows[3].Text',
    speaker: null,
  };

  type Changed = { readonly [Name in keyof typeof place]?: string };

  it.each<[string, Changed, TextKind | null]>([
    ['nothing tells', {}, null],
    ['someone speaks it', { speaker: 'Nell' }, 'dialogue'],
    ['its file has scenes', { destination: 'Scenario/Main/001.json' }, 'dialogue'],
    ['its field is a button', { fieldPath: 'ui.okButton' }, 'button'],
    [
      'its field is a name, whatever its file has',
      { destination: 'Items.csv', fieldPath: 'name_jp' },
      'name',
    ],
    ['its file has items', { destination: 'Tables/ItemExcel.zip' }, 'item description'],
    ['its field describes', { fieldPath: 'Rows[1].DescriptionJp', speaker: 'Nell' }, 'item description'],
    ['its field is a message', { fieldPath: 'errors[0].message' }, 'system message'],
    ['someone speaks the message', { fieldPath: 'message', speaker: 'Nell' }, 'dialogue'],
    ['a word is only in another one', { destination: 'Stories/Tablet.json' }, null],
  ])('is known when %s', (_what, more, kind) => {
    expect(guessTextKind({ ...place, ...more })).toBe(kind);
  });
});

describe('a run of workers in one line', () => {
  const reasons = [{ code: 'provider_unreachable', units: 20, message: 'connection refused' }];
  const units = { reused: 0, translated: 40, left: 20 };

  it('has what it has got, and why it has not got the rest', () => {
    const result = { outcome: 'partly', units, reasons };
    expect(runBrief(result)).toBe('40 translated, 20 left; provider_unreachable: connection refused');
    expect(runBrief({ outcome: 'succeeded', units: { translated: 3 }, reasons: [] })).toBe('3 translated');
    expect(runBrief({ outcome: 'succeeded', units: {}, reasons: [] })).toBe('nothing to translate');
    expect([runBrief(null), runBrief({ units }), runBrief({ outcome: 'new' })]).toEqual([null, null, null]);
  });

  it('ended partly when it came to its end and left texts', () => {
    expect(endedAs({ status: 'succeeded', result: { outcome: 'partly' } })).toBe('partly');
    expect(endedAs({ status: 'succeeded', result: { outcome: 'succeeded' } })).toBe('succeeded');
    expect(endedAs({ status: 'failed', result: { outcome: 'partly' } })).toBe('failed');
    expect(endedAs({ status: 'running', result: null })).toBe('running');
  });
});
