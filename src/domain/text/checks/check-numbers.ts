import { mismatches, type Check } from './check-texts.ts';
import type { Span } from './finding.ts';
import { matchesOf } from './matches-of.ts';

const NUMBER = /\p{Nd}+(?:[.,．，]\p{Nd}+)*/gu;
const GROUPED = /^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/;

interface FoundNumber extends Span {
  readonly key: string;
}

/** `number_mismatch`: numbers outside of tags and placeholders, as a multiset. */
export const checkNumbers: Check = ({ source, target }) =>
  mismatches(
    'number_mismatch',
    'number',
    { source: numbersOf(source.masked), target: numbersOf(target.masked) },
    ({ key }) => key,
  );

/** Numbers with NFKC digits. A comma groups three digits, or separates two numbers. */
function numbersOf(text: string): FoundNumber[] {
  const numbers: FoundNumber[] = [];
  for (const { 0: found, index } of matchesOf(text, NUMBER)) {
    const value = found.normalize('NFKC');
    const span = { start: index, end: index + found.length };
    if (GROUPED.test(value)) numbers.push({ key: value.replaceAll(',', ''), ...span });
    else for (const part of value.split(',')) numbers.push({ key: part, ...span });
  }
  return numbers;
}
