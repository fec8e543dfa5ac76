import { surplus, type Check } from './check-texts.ts';
import { finding, shown, type Span } from './finding.ts';
import { matchesOf } from './matches-of.ts';

const NUMBER = /\p{Nd}+(?:[.,．，]\p{Nd}+)*/gu;
const GROUPED = /^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/;

interface FoundNumber extends Span {
  readonly value: string;
}

/** `number_mismatch`: numbers outside of tags and placeholders, as a multiset. */
export const checkNumbers: Check = function* ({ source, target }) {
  const before = numbersOf(source.masked);
  const after = numbersOf(target.masked);
  for (const number of surplus(before, after, valueOf)) {
    yield finding('number_mismatch', `the target lacks the number ${shown(number.value)}`, {
      source: number,
    });
  }
  for (const number of surplus(after, before, valueOf)) {
    yield finding('number_mismatch', `the source lacks the number ${shown(number.value)}`, {
      target: number,
    });
  }
};

function valueOf({ value }: FoundNumber): string {
  return value;
}

/** Numbers with NFKC digits. A comma groups three digits, or separates two numbers. */
function numbersOf(text: string): FoundNumber[] {
  const numbers: FoundNumber[] = [];
  for (const { 0: found, index } of matchesOf(text, NUMBER)) {
    const value = found.normalize('NFKC');
    const span = { start: index, end: index + found.length };
    if (GROUPED.test(value)) numbers.push({ value: value.replaceAll(',', ''), ...span });
    else for (const part of value.split(',')) numbers.push({ value: part, ...span });
  }
  return numbers;
}
