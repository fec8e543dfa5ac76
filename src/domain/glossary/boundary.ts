/** Languages that are written without spaces between words, by the primary subtag of BCP 47. */
const WITHOUT_SPACES: ReadonlySet<string> = new Set([
  'bo',
  'dz',
  'ja',
  'km',
  'lo',
  'my',
  'th',
  'wuu',
  'yue',
  'zh',
]);

const WORD = /[\p{L}\p{N}\p{M}_]/u;
/** Scripts whose runs are words: a term that ends inside of such a run is only a part of a word. */
const RUNS: readonly RegExp[] = [/\p{Script=Latin}/u, /\p{Nd}/u, /[\p{Script=Katakana}\u30fc]/u];

/** Tells whether a part of a text begins and ends where words do. */
export type BoundaryTest = (text: string, start: number, end: number) => boolean;

/**
 * Makes the test for a language. With spaces between words, no letter, mark or digit may stand beside the part. Without
 * them, a part that begins or ends with a Latin letter, a digit or a katakana must not stand beside another one of that
 * kind: アル is not found inside of アルバイト. Other characters, such as kanji, have no boundary.
 *
 * @param language a BCP 47 tag
 */
export function createBoundaryTest(language: string): BoundaryTest {
  const primary = language.split('-', 1)[0]?.toLowerCase() ?? '';
  return WITHOUT_SPACES.has(primary) ? endsBetweenRuns : endsBetweenWords;
}

/** Whether a language is written without spaces between words. */
export function isWrittenWithoutSpaces(language: string): boolean {
  return createBoundaryTest(language) === endsBetweenRuns;
}

function endsBetweenWords(text: string, start: number, end: number): boolean {
  return !WORD.test(characterBefore(text, start)) && !WORD.test(characterAt(text, end));
}

function endsBetweenRuns(text: string, start: number, end: number): boolean {
  return (
    !isOneRun(characterBefore(text, start), characterAt(text, start)) &&
    !isOneRun(characterBefore(text, end), characterAt(text, end))
  );
}

function isOneRun(left: string, right: string): boolean {
  if (left === '' || right === '') return false;
  return RUNS.some((run) => run.test(left) && run.test(right));
}

function characterAt(text: string, index: number): string {
  const code = text.codePointAt(index);
  return code === undefined ? '' : String.fromCodePoint(code);
}

function characterBefore(text: string, index: number): string {
  if (index === 0) return '';
  const unit = text.charCodeAt(index - 1);
  const isSecondHalf = unit >= 0xdc00 && unit < 0xe000;
  return isSecondHalf && index > 1 ? characterAt(text, index - 2) : text.charAt(index - 1);
}
