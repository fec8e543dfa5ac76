/** Longest sequences of characters that are compared. */
const ORDERS = 6;
/** How much more the found part of the reference counts than the right part of the translation, squared. */
const BETA_SQUARED = 4;

/** White space as `str.split` of Python has it: that of Unicode, and the four separators of ASCII. */
// oxlint-disable-next-line no-control-regex
const SPACE = /[\p{White_Space}\u001c-\u001f]+/gu;

/** The sequences of one length: those of the translation, those of the reference, and those that both have. */
interface SequenceCount {
  readonly translation: number;
  readonly reference: number;
  readonly common: number;
}

/** The counts of the sequences of each length, from one character on. Counts of several texts can be added. */
export type ChrfCounts = readonly SequenceCount[];

/** The counts of no text. */
export const NO_CHRF_COUNTS: ChrfCounts = Array.from({ length: ORDERS }, () => ({
  translation: 0,
  reference: 0,
  common: 0,
}));

/**
 * Compares the sequences of characters (code points, without white space) of a translation and a reference, in time linear in their lengths.
 *
 * Source: chrF2 of sacrebleu, `CHRF` with its defaults (Popović 2015, chrF: character n-gram F-score).
 */
export function chrfCounts(translation: string, reference: string): ChrfCounts {
  const [own, wanted] = [charactersOf(translation), charactersOf(reference)];
  return NO_CHRF_COUNTS.map((_, at) => countCommon(sequences(own, at + 1), sequences(wanted, at + 1)));
}

/** Adds the counts of two texts: the score of a set is that of the sum. */
export function addChrfCounts(left: ChrfCounts, right: ChrfCounts): ChrfCounts {
  return left.map(({ translation, reference, common }, at) => {
    const other = right[at];
    return {
      translation: translation + (other?.translation ?? 0),
      reference: reference + (other?.reference ?? 0),
      common: common + (other?.common ?? 0),
    };
  });
}

/** The score of counts, from 0 to 100. Only lengths count of which both sides have a sequence (effective order). */
export function chrfScore(counts: ChrfCounts): number {
  const used = counts.filter(({ translation, reference }) => translation > 0 && reference > 0);
  if (used.length === 0) return 0;
  const mean = (part: (count: SequenceCount) => number): number =>
    used.reduce((sum, count) => sum + part(count), 0) / used.length;
  const precision = mean(({ common, translation }) => common / translation);
  const recall = mean(({ common, reference }) => common / reference);
  if (precision + recall === 0) return 0;
  return (100 * (1 + BETA_SQUARED) * precision * recall) / (BETA_SQUARED * precision + recall);
}

function charactersOf(text: string): readonly string[] {
  return Array.from(text.replaceAll(SPACE, ''));
}

function sequences(characters: readonly string[], length: number): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (let at = 0; at + length <= characters.length; at += 1) {
    const sequence = characters.slice(at, at + length).join('');
    counts.set(sequence, (counts.get(sequence) ?? 0) + 1);
  }
  return counts;
}

function countCommon(own: ReadonlyMap<string, number>, wanted: ReadonlyMap<string, number>): SequenceCount {
  let [translation, reference, common] = [0, 0, 0];
  for (const [sequence, count] of own) {
    translation += count;
    common += Math.min(count, wanted.get(sequence) ?? 0);
  }
  for (const count of wanted.values()) reference += count;
  // A length that the reference does not have says nothing about the translation.
  return { translation: wanted.size === 0 ? 0 : translation, reference, common };
}
