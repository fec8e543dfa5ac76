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

const UNKNOWN = -2;
const NO_RUN = -1;
/** By character of the basic plane: the index of its run. Filled as needed. */
const knownRuns = new Int8Array(0x1_0000).fill(UNKNOWN);

export type BoundaryTest = (text: string, start: number, end: number) => boolean;

/**
 * Makes the test for a language. With spaces between words, no letter, mark or digit may stand beside the part. Without
 * them, a part that begins or ends with a Latin letter, a digit or a katakana must not stand beside another one of that
 * kind: アル is not found inside of アルバイト. Other characters, such as kanji, have no boundary.
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
    !isOneRun(codeBefore(text, start), text.codePointAt(start)) &&
    !isOneRun(codeBefore(text, end), text.codePointAt(end))
  );
}

function isOneRun(left: number | undefined, right: number | undefined): boolean {
  if (left === undefined || right === undefined) return false;
  const run = runOf(left);
  return run !== NO_RUN && run === runOf(right);
}

function runOf(code: number): number {
  const known = knownRuns[code] ?? UNKNOWN;
  if (known !== UNKNOWN) return known;
  const character = String.fromCodePoint(code);
  const run = RUNS.findIndex((each) => each.test(character));
  // Beyond the table, this stores nothing.
  knownRuns[code] = run;
  return run;
}

function characterAt(text: string, index: number): string {
  const code = text.codePointAt(index);
  return code === undefined ? '' : String.fromCodePoint(code);
}

function characterBefore(text: string, index: number): string {
  const code = codeBefore(text, index);
  return code === undefined ? '' : String.fromCodePoint(code);
}

function codeBefore(text: string, index: number): number | undefined {
  if (index === 0) return undefined;
  const unit = text.charCodeAt(index - 1);
  const isSecondHalf = unit >= 0xdc00 && unit < 0xe000;
  // Half of a pair that stands alone is the code point of itself.
  const code = isSecondHalf && index > 1 ? text.codePointAt(index - 2) : unit;
  return code !== undefined && isSecondHalf && code <= 0xffff ? unit : code;
}
