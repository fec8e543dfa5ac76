/** Placeholders and tags of a text, as the checks of the daemon read them; pure. */

import { surplus } from '../../domain/text/checks/check-texts.ts';
import { closedSquareNames, findMarkup, type Mark } from '../../domain/text/checks/find-markup.ts';

export type { Mark };

export interface MarkHints {
  readonly placeholders?: readonly string[];
  readonly source?: string;
}

const NO_NAMES: ReadonlySet<string> = new Set();

/** Finds the placeholders and tags of a text in their order, without overlap; UTF-16 offsets. */
export function marksOf(text: string, { placeholders = [], source = '' }: MarkHints = {}): readonly Mark[] {
  const squareNames = new Set([...closedSquareNames(source), ...closedSquareNames(text)]);
  const own = placeholders.filter((each) => each !== '' && !isKnown(each, squareNames));
  return findMarkup(text, {
    tags: true,
    squareNames,
    findPlaceholders: own.length === 0 ? undefined : (within) => findLiterals(within, own),
  }).marks;
}

/** Placeholders and tags of the source that its target does not have, in their order. */
export function missingMarks(
  source: string,
  target: string,
  placeholders: readonly string[] = [],
): readonly Mark[] {
  const expected = marksOf(source, { placeholders, source: target });
  const given = marksOf(target, { placeholders, source });
  return surplus(expected, given, comparedPart);
}

/** Ruby is compared by its number, as `ruby_count` does, because its reading is translated. */
function comparedPart({ kind, key, name, isClosing }: Mark): string {
  return kind === 'ruby' ? `ruby ${isClosing ? '/' : ''}${name}` : key;
}

interface Insertion {
  readonly text: string;
  readonly caret: number;
}

/**
 * Inserts the first placeholder or tag that a target does not have at the selection. An opening tag whose closing one is also
 * missing goes around a selection that is not empty.
 *
 * @returns `null` when nothing is missing
 */
export function insertMissing(
  { source, target, placeholders = [] }: { source: string; target: string; placeholders?: readonly string[] },
  selection: { readonly start: number; readonly end: number },
): Insertion | null {
  const missing = missingMarks(source, target, placeholders);
  const [first] = missing;
  if (first === undefined) return null;
  const textOf = ({ start, end }: Mark): string => source.slice(start, end);
  const closing = missing.find(
    ({ kind, isClosing, name }) => kind === 'tag' && isClosing && name === first.name,
  );
  const { start, end } = selection;
  const before = target.slice(0, start);
  const selected = target.slice(start, end);
  if (first.kind === 'tag' && !first.isClosing && closing !== undefined && selected !== '') {
    const head = `${before}${textOf(first)}${selected}${textOf(closing)}`;
    return { text: head + target.slice(end), caret: head.length };
  }
  const head = before + textOf(first);
  return { text: head + selected + target.slice(end), caret: head.length };
}

/** Whether the checks know a placeholder without a rule for it. */
function isKnown(placeholder: string, squareNames: ReadonlySet<string>): boolean {
  const { marks } = findMarkup(placeholder, {
    tags: true,
    squareNames: squareNames.size === 0 ? NO_NAMES : squareNames,
    findPlaceholders: undefined,
  });
  const [only] = marks;
  return marks.length === 1 && only?.start === 0 && only.end === placeholder.length;
}

function findLiterals(text: string, literals: readonly string[]): { start: number; end: number }[] {
  const longestFirst = [...new Set(literals)].toSorted((left, right) => right.length - left.length);
  const pattern = new RegExp(longestFirst.map(escapePattern).join('|'), 'g');
  return Array.from(text.matchAll(pattern), ({ 0: found, index }) => ({
    start: index,
    end: index + found.length,
  }));
}

function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}
