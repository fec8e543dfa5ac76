import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Diagnosis } from '../../../src/domain/glossary/diagnose.ts';
import { decideImport, type ImportFacts } from '../../../src/domain/glossary/import-decision.ts';
import type { ReviewStatus, Term } from '../../../src/domain/glossary/term.ts';
import { diagnoseWith, testTerm } from '../../support/glossary-terms.ts';

const teacher = testTerm('先生', '老师', { allowedTranslations: ['师父'], category: 'person' });

function codes({ diagnostics }: Diagnosis): string[] {
  return diagnostics.map(({ code, severity }) => `${code}:${severity}`);
}

describe('the diagnosis of a translation', () => {
  describe('constraints', () => {
    it('name the wanted wording at each place', () => {
      const terms = [
        teacher,
        testTerm('石', '石头', { reviewStatus: 'draft' }),
        testTerm('先生', '教师', { termId: 'old', reviewStatus: 'deprecated' }),
      ];
      const { constraints, blockingCodes, diagnostics } = diagnoseWith(terms, '石と先生');
      expect(
        constraints.map(({ matchedText, requirement, span }) => [matchedText, requirement, span]),
      ).toEqual([
        ['石', 'should', { start: 0, end: 1 }],
        ['先生', 'forbidden', { start: 2, end: 4 }],
        ['先生', 'must', { start: 2, end: 4 }],
      ]);
      expect(blockingCodes).toEqual([]);
      expect(diagnostics.map(({ code }) => code)).toEqual(['deprecated_term_matched']);
    });

    it('do not come from a draft without a translation, not even over an approved term inside of it', () => {
      const waiting = testTerm('先生たち', '', { reviewStatus: 'draft' });
      const { constraints, diagnostics } = diagnoseWith([teacher, waiting], '先生たち', '老师们');
      expect(constraints.map(({ term }) => term.termId)).toEqual(['先生']);
      expect(diagnostics).toEqual([]);
    });

    it('do not forbid a wording that an approved term at the same place allows', () => {
      const old = testTerm('先生', '師父', { termId: 'old', reviewStatus: 'deprecated' });
      const now = testTerm('先生', '老师', { allowedTranslations: ['師父'] });
      const { constraints, blockingCodes } = diagnoseWith([old, now], '先生', '師父');
      expect(constraints.map(({ term }) => term.termId)).toEqual(['先生']);
      expect(blockingCodes).toEqual([]);
    });
  });

  describe('the checks of a translation', () => {
    it.each<[string, string, string, readonly string[]]>([
      ['the recommended translation', '先生', '老师好', []],
      ['an allowed one', '先生', '师父', []],
      ['a folded one', 'ＨＰの薬', 'ＨＰ药', []],
      ['a missing term', '先生と先生', '你好', ['term_missing:error']],
      ['an empty translation', '先生', '', ['term_missing:error']],
      ['a translation inside of a tag', '先生', '<b=老师>', ['term_missing:error']],
      ['fewer than in the source', '先生と先生', '老师', ['term_count_mismatch:warning']],
      ['more than in the source', '先生', '老师老师', []],
      ['a source form that is left', '先生、先生', '老师、师父、先生', ['untranslated_term_left:warning']],
      [
        'a deprecated wording',
        '古い薬',
        '旧药水',
        ['forbidden_translation:error', 'deprecated_term_matched:info'],
      ],
      ['no deprecated wording', '古い薬', '老药', ['deprecated_term_matched:info']],
      ['a draft that is not used', '石', '宝玉', ['draft_term_unused:info']],
      ['a draft that is used', '石', '石头', []],
    ])('%s', (_, source, target, expected) => {
      const terms = [
        teacher,
        testTerm('HP', 'HP'),
        testTerm('古い薬', '旧药', { reviewStatus: 'deprecated' }),
        testTerm('石', '石头', { reviewStatus: 'draft' }),
      ];
      expect(codes(diagnoseWith(terms, source, target))).toEqual(expected);
    });

    it('do not take a part of an allowed translation for a forbidden one', () => {
      const old = testTerm('先生', '师', { termId: 'old', reviewStatus: 'deprecated' });
      expect(diagnoseWith([teacher, old], '先生', '老师').blockingCodes).toEqual([]);
      expect(diagnoseWith([teacher, old], '先生', '老师和师').blockingCodes).toEqual([
        'forbidden_translation',
      ]);
    });

    it('need whole words where the language has spaces between them', () => {
      const pair = { sourceLanguage: 'ja', targetLanguage: 'en' };
      const term = testTerm('美術', 'art', pair);
      expect(diagnoseWith([term], '美術', 'A party.', { pair }).blockingCodes).toEqual(['term_missing']);
      expect(diagnoseWith([term], '美術', 'Art!', { pair }).blockingCodes).toEqual([]);
    });

    it('make a missing term a warning where it does not block, by its category', () => {
      const text = { blocksWhenMissing: (category: string) => category !== 'person' };
      const result = diagnoseWith([teacher, testTerm('石', '石头')], '先生と石', '无', text);
      expect(codes(result)).toEqual(['term_missing:warning', 'term_missing:error']);
      expect(result.blockingCodes).toEqual(['term_missing']);
      expect(diagnoseWith([teacher], '先生', '无', text).blockingCodes).toEqual([]);
    });

    it('block where approved terms of one rank disagree, and accept the wording of each', () => {
      const rival = { ...teacher, termId: 'z', recommendedTranslation: '教师', allowedTranslations: [] };
      const result = diagnoseWith([rival, teacher], '先生', '教师');
      expect(codes(result)).toEqual(['ambiguous_term:error']);
      expect(result.diagnostics[0]?.terms.map(({ termId }) => termId)).toEqual(['z', '先生']);
      const agreeing = { ...rival, recommendedTranslation: '老师' };
      expect(codes(diagnoseWith([agreeing, teacher], '先生', '老师'))).toEqual(['shadowed_term:info']);
      const ranked = { ...rival, priority: 1 };
      expect(diagnoseWith([ranked, teacher], '先生', '教师').blockingCodes).toEqual([]);
    });

    it('take time in proportion to the texts', () => {
      const terms = [
        testTerm('先', '老'),
        testTerm('先先', '老老'),
        testTerm('生', '师', { reviewStatus: 'deprecated' }),
      ];
      const source = '先先生'.repeat(20_000);
      expect(diagnoseWith(terms, source, '老老师'.repeat(20_000)).blockingCodes).toEqual([
        'forbidden_translation',
      ]);
    });
  });

  describe('the identity of a diagnosis', () => {
    const sourceTerm = fc.constantFrom('先生', '先', '生', '石', '大先生', '生石');
    const term = fc
      .record({
        sourceTerm,
        recommendedTranslation: fc.constantFrom('老师', '石头', '师'),
        reviewStatus: fc.constantFrom('draft', 'approved', 'deprecated', 'rejected'),
        scope: fc.constantFrom({}, { speaker: 'アル' }, { scene: '*' }),
        priority: fc.constantFrom(0, 1, 2n ** 60n),
      })
      .map((fields) => ({ ...testTerm('', ''), ...fields }) satisfies Term);
    const terms = fc
      .array(term, { maxLength: 8 })
      .map((list) => list.map((each, index): Term => ({ ...each, termId: `t${index}` })));
    const text = fc
      .array(fc.constantFrom('大', '先生', '石', '{0}', 'は', '老师', '师'), { maxLength: 8 })
      .map((parts) => parts.join(''));
    const context = fc.constantFrom<Readonly<Record<string, string>>[]>(
      {},
      { speaker: 'アル' },
      { scene: 'x', speaker: 'アル' },
    );

    it('stays under permutation of the terms, of the context, and under another severity', () => {
      fc.assert(
        fc.property(terms, text, text, context, fc.gen(), (list, source, target, facts, gen) => {
          const shuffled = gen(fc.shuffledSubarray, list, { minLength: list.length });
          const turned = Object.fromEntries(Object.entries(facts).toReversed());
          const first = diagnoseWith(list, source, target, { context: facts });
          const second = diagnoseWith(shuffled, source, target, {
            context: { ...turned, unrelated: 'x' },
            blocksWhenMissing: () => false,
          });
          expect(second.identityText).toBe(first.identityText);
        }),
        { numRuns: 300 },
      );
    });

    it('changes with every edit of a term that counts, and with its removal', () => {
      fc.assert(
        fc.property(terms, text, text, context, (list, source, target, facts) => {
          const identity = (changed: readonly Term[]): string =>
            diagnoseWith(changed, source, target, { context: facts }).identityText;
          const before = identity(list);
          for (const { term } of diagnoseWith(list, source, target, { context: facts }).constraints) {
            const edited = list.map((each) =>
              each === term ? { ...each, revision: each.revision + 1 } : each,
            );
            expect(identity(edited)).not.toBe(before);
            expect(identity(list.filter((each) => each !== term))).not.toBe(before);
          }
        }),
        { numRuns: 200 },
      );
    });

    it('changes with an edit of a term that is ambiguous beside the one that counts', () => {
      const rival = { ...teacher, termId: 'z', recommendedTranslation: '教师' };
      const before = diagnoseWith([teacher, rival], '先生', '老师').identityText;
      expect(diagnoseWith([teacher, { ...rival, revision: 2 }], '先生', '老师').identityText).not.toBe(
        before,
      );
    });

    it('stays with an edit of a term that does not match, or is out of scope', () => {
      const others = [
        testTerm('石', 'x'),
        testTerm('先生', 'x', { termId: 'o', scope: { speaker: 'ムツキ' } }),
      ];
      const before = diagnoseWith([teacher, ...others], '先生', '老师').identityText;
      const edited = others.map((each) => ({ ...each, revision: 9 }));
      expect(diagnoseWith([teacher, ...edited], '先生', '老师').identityText).toBe(before);
    });

    it.each([
      ['the source', { sourceText: '先生！' }],
      ['the translation', { translatedText: '老师！' }],
      ['no translation', { translatedText: null }],
      ['a fact of a scope', { context: { scene: 'b' } }],
      ['the pair', { pair: { sourceLanguage: 'ja', targetLanguage: 'en' } }],
    ])('changes with %s', (_, change) => {
      const scoped = { ...teacher, scope: { scene: '*' } };
      const list = [scoped, { ...scoped, targetLanguage: 'en' }];
      const facts = { sourceText: '先生', translatedText: '老师', context: { scene: 'a' } };
      const before = diagnoseWith(list, '先生', '老师', facts).identityText;
      expect(diagnoseWith(list, '先生', '老师', { ...facts, ...change }).identityText).not.toBe(before);
    });

    it('is that of the normal form of the texts', () => {
      const term = testTerm('がく', '乐');
      const composed = diagnoseWith([], 'が\n', 'é\r\n').identityText;
      expect(diagnoseWith([], 'か\u3099\r\n', 'e\u0301\n').identityText).toBe(composed);
      expect(diagnoseWith([term], 'が ', 'é').identityText).not.toBe(
        diagnoseWith([term], 'が', 'é').identityText,
      );
    });
  });
});

const STATES: readonly (ReviewStatus | null)[] = [null, 'draft', 'approved', 'deprecated', 'rejected'];
const SWITCHES = [true, false];

/** Every combination of facts. */
const ALL: readonly ImportFacts[] = STATES.flatMap((known) =>
  STATES.flatMap((read) =>
    SWITCHES.flatMap((isSame) =>
      SWITCHES.flatMap((isReviewed) =>
        SWITCHES.map((hasTranslation) => ({ known, read, isSame, isReviewed, hasTranslation })),
      ),
    ),
  ),
);

function stepsOf(facts: ImportFacts): readonly string[] {
  const decision = decideImport(facts);
  return decision.kind === 'steps' ? decision.steps : [];
}

describe('an import of a term', () => {
  it('without a reviewer only adds drafts and changes drafts', () => {
    for (const facts of ALL.filter(({ isReviewed }) => !isReviewed)) {
      const steps = stepsOf(facts);
      expect(steps).not.toContain('approve');
      expect(steps).not.toContain('deprecate');
      if (facts.known !== null && facts.known !== 'draft') expect(steps).toEqual([]);
    }
  });

  it('never touches a rejected term, nor takes one from a file', () => {
    for (const facts of ALL.filter(({ known, read }) => known === 'rejected' || read === 'rejected')) {
      expect(stepsOf(facts)).toEqual([]);
    }
  });

  it('changes nothing the second time', () => {
    for (const facts of ALL) {
      const steps = stepsOf(facts);
      if (steps.length === 0) continue;
      const known = steps.includes('deprecate')
        ? 'deprecated'
        : steps.includes('approve')
          ? 'approved'
          : (facts.known ?? 'draft');
      expect(stepsOf({ ...facts, known, isSame: true })).toEqual([]);
    }
  });

  it('approves no term without a translation', () => {
    for (const facts of ALL.filter(({ hasTranslation }) => !hasTranslation)) {
      expect(stepsOf(facts)).not.toContain('approve');
    }
  });
});
