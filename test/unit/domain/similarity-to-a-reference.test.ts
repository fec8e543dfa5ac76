import { expect, it } from 'vitest';
import {
  addChrfCounts,
  chrfCounts,
  chrfScore,
  NO_CHRF_COUNTS,
} from '../../../src/domain/translation/chrf.ts';
import figures from '../../support/chrf-figures.json' with { type: 'json' };

// Written with: python3 test/support/score-chrf.py < PAIRS > test/support/chrf-figures.json
const cases = figures.pairs.map(([translation = '', reference = ''], at) => ({
  translation,
  reference,
  score: figures.scores[at] ?? NaN,
}));

it.each(cases)('chrF of $translation with the reference $reference is that of sacrebleu', (pair) => {
  expect(chrfScore(chrfCounts(pair.translation, pair.reference))).toBeCloseTo(pair.score, 9);
});

it('the chrF of a set is that of its counts together, not a mean of its texts', () => {
  const sum = cases
    .map(({ translation, reference }) => chrfCounts(translation, reference))
    .reduce(addChrfCounts, NO_CHRF_COUNTS);
  expect(chrfScore(sum)).toBeCloseTo(figures.corpus, 9);
  expect(cases.length).toBeGreaterThan(15);
});
