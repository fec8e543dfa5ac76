import { join } from 'node:path';
import { compileGlossary } from '../../src/domain/glossary/compile-glossary.ts';
import { findTerms } from '../../src/domain/glossary/find-terms.ts';
import { foldText } from '../../src/domain/glossary/fold.ts';
import type { Term } from '../../src/domain/glossary/term.ts';
import type { BenchOptions, BenchRow } from './bench-row.ts';
import { sentenceOf, wordOf } from './japanese-texts.ts';
import { medianOf, runPairedRounds } from './paired-rounds.ts';
import { processorSecondsOf } from './processor-time.ts';
import { textPeers, writeTexts } from './text-peers.ts';

const PAIR = { sourceLanguage: 'ja', targetLanguage: 'zh-Hans' };
const TERMS = 50_000;
const TEXTS = 100_000;

/**
 * The terms of 100,000 texts in a Glossary of 50,000, one thread. The automaton does the work of the peer; the whole search also
 * judges boundaries, scopes and overlaps, which the peer does not. Both sides are processor time.
 */
export async function run({ rounds, quick, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  const terms = [...new Set(Array.from({ length: quick ? 500 : TERMS }, (_, index) => wordOf(index)))];
  const texts = Array.from({ length: quick ? 500 : TEXTS }, (_, index) => sentenceOf(index));
  const glossary = compileGlossary(terms.map(termOf), PAIR);
  const folded = texts.map((text) => foldText(text));
  const perText = (seconds: number): number => (seconds * 1e6) / texts.length;
  const ours = (): Promise<number> => {
    let found = 0;
    const seconds = processorSecondsOf(() => {
      for (const { text } of folded) glossary.automaton.find(text, () => (found += 1));
    });
    if (found === 0) throw new Error('no term was found');
    return Promise.resolve(perText(seconds));
  };
  const peer = textPeers();
  const paths = [join(workDirectory, 'terms.jsonl'), join(workDirectory, 'texts.jsonl')] as const;
  await writeTexts(
    paths[0],
    terms.map((term) => foldText(term).text),
  );
  await writeTexts(
    paths[1],
    folded.map(({ text }) => text),
  );
  const theirs = async (): Promise<number> => {
    if (peer === null) return Number.NaN;
    return perText(((await peer('terms', ...paths)) as { seconds: number }).seconds);
  };
  const { pairs, isConclusive, noisyRounds } = await runPairedRounds({ rounds, quick, ours, theirs });
  const [our, their] = [
    medianOf(pairs, 'ours', (value) => value),
    medianOf(pairs, 'theirs', (value) => value),
  ];
  const whole = wholeSearch();
  const note = `${terms.length} terms, ${texts.length} texts`;
  return [
    {
      case: 'glossary: automaton against pyahocorasick',
      value: their / our,
      unit: 'x as fast',
      target: '>= 8',
      pass: isConclusive && peer !== null ? their / our >= 8 : null,
      rounds: pairs.map((pair) => pair.theirs / pair.ours),
      note: `${note}; ${our.toFixed(2)} us a text against ${their.toFixed(2)}`,
      noisyRounds,
    },
    {
      case: 'glossary: whole search, with boundaries, scopes and overlaps',
      value: whole,
      unit: 'us a text',
      target: 'none',
      pass: null,
      rounds: [whole],
      note,
    },
  ];

  function wholeSearch(): number {
    return perText(
      processorSecondsOf(() => {
        for (const each of folded) findTerms(glossary, { folded: each, masks: [] }, {});
      }),
    );
  }
}

function termOf(sourceTerm: string, index: number): Term {
  return {
    ...PAIR,
    termId: `gt_${index}`,
    revision: 1,
    sourceTerm,
    aliases: [],
    recommendedTranslation: `译${index}`,
    allowedTranslations: [],
    category: '',
    priority: 0,
    scope: {},
    reviewStatus: 'approved',
  };
}
