import { splitPlaceholders } from '../text/placeholders.ts';

const NUMBER = /\p{Nd}+(?:[.,．，]\p{Nd}+)*/gu;
/** Stands for a number. From the private use area, so that no text has it. */
const NUMBER_MARK = '\uE001';
const ASCII_DIGIT = /[0-9]/;
/** From an ASCII character to its full-width form. */
const FULL_WIDTH_OFFSET = 0xfe_e0;

/** A text whose numbers are marks, and the numbers as written. Digits within placeholders do not count as numbers. */
interface MaskedNumbers {
  readonly masked: string;
  readonly numbers: readonly string[];
}

/** Replaces each number of a text by a mark. */
export function maskNumbers(text: string): MaskedNumbers {
  const numbers: string[] = [];
  const masked = mapPlainText(text, (part) =>
    part.replace(NUMBER, (number) => {
      numbers.push(number);
      return NUMBER_MARK;
    }),
  );
  return { masked, numbers };
}

/**
 * A translation in which the numbers of the known source are replaced by those of the source to translate. Each number
 * keeps the width in which the known target wrote it.
 *
 * @returns `null` when the sources differ in more than numbers, or when it is not certain which number of the target is which:
 *   the numbers of the known source and target are not the same, or one number has two successors
 */
export function substituteNumbers({
  source,
  knownSource,
  knownTarget,
}: {
  readonly source: string;
  readonly knownSource: string;
  readonly knownTarget: string;
}): string | null {
  const wanted = maskNumbers(source);
  const known = maskNumbers(knownSource);
  const target = maskNumbers(knownTarget);
  if (wanted.numbers.length === 0 || wanted.masked !== known.masked) return null;
  if (!sameValues(known.numbers, target.numbers)) return null;
  const successors = new Map<string, string>();
  for (const [index, number] of known.numbers.entries()) {
    const value = valueOf(number);
    const successor = valueOf(wanted.numbers[index] ?? '');
    if ((successors.get(value) ?? successor) !== successor) return null;
    successors.set(value, successor);
  }
  return mapPlainText(knownTarget, (part) =>
    part.replace(NUMBER, (number) => inWidthOf(number, successors.get(valueOf(number)) ?? number)),
  );
}

function mapPlainText(text: string, map: (part: string) => string): string {
  return splitPlaceholders(text)
    .map((part, index) => (index % 2 === 0 ? map(part) : part))
    .join('');
}

function sameValues(left: readonly string[], right: readonly string[]): boolean {
  if (left.length !== right.length) return false;
  const values = right.map(valueOf).sort();
  return left
    .map(valueOf)
    .sort()
    .every((value, index) => value === values[index]);
}

function valueOf(number: string): string {
  return number.normalize('NFKC');
}

function inWidthOf(model: string, value: string): string {
  if (ASCII_DIGIT.test(model) || model === valueOf(model)) return value;
  return value.replace(/[0-9.,]/g, (character) =>
    String.fromCharCode(character.charCodeAt(0) + FULL_WIDTH_OFFSET),
  );
}
