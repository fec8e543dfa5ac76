import type { CheckName } from '../text/checks/check-table.ts';
import { finding, shown, type Finding } from '../text/checks/finding.ts';
import { HAN_LANGUAGES, primaryLanguage } from '../text/checks/check-language.ts';
import { normalText } from '../text/normal-text.ts';
import { splitPlaceholders } from '../text/placeholders.ts';

/** A text with the translation that a program gave. */
export interface MachineText {
  readonly key: string;
  readonly source: string;
  readonly target: string;
}

/** The sources of each translation that a program gave for one container, in the form in which texts are compared. */
export type AnswersSoFar = Map<string, Set<string>>;

export interface MachineLanguages {
  readonly sourceLanguage: string;
  readonly targetLanguage: string;
}

/** The checks of {@link machineFlaws}. Their findings depend on what else the program gave. */
export const MACHINE_CHECKS = [
  'answer_repeated',
  'answer_shifted',
  'source_copied',
  'wrong_script',
  'token_moved',
] as const satisfies readonly CheckName[];

/**
 * Finds flaws that people do not make: one translation for many different texts, translations that are shifted by a row, a copy of the
 * source, a wrong script, and a placeholder that was moved to the beginning.
 *
 * @param texts of one answer, in the order in which they were asked for
 * @param answers what the program gave before; the new translations are added
 * @returns the findings by key; a text without a flaw has none
 */
export function machineFlaws(
  texts: readonly MachineText[],
  languages: MachineLanguages,
  answers: AnswersSoFar,
): ReadonlyMap<string, readonly Finding[]> {
  const own: AnswersSoFar = new Map();
  for (const { source, target } of texts) {
    note(answers, source, target);
    note(own, source, target);
  }
  const shifted = shiftOf(texts);
  return new Map(
    texts.map((text) => [
      text.key,
      [
        ...repeatedAnswer(text, answers, isWhole(text, own, texts.length)),
        ...(shifted === null ? [] : [finding('answer_shifted', shifted)]),
        ...copiedSource(text, languages),
        ...wrongScript(text, languages),
        ...movedPlaceholder(text),
      ],
    ]),
  );
}

/** Least rows of an answer that are judged together. */
const LEAST_ROWS = 4;
/** Sources of one answer that are remembered: one more than is allowed is enough. */
const REMEMBERED = 8;
/** Answers of one container that are remembered. */
const MOST_ANSWERS = 100_000;
/** Different sources that may have one translation when they are long, and when they are short: many short words mean "yes". */
const MOST_SOURCES = { long: 2, short: 5 };
const LONG_SOURCE = 8;

function note(answers: AnswersSoFar, source: string, target: string): void {
  const sources = answers.get(plain(target)) ?? new Set();
  if (sources.size < REMEMBERED) sources.add(plain(source));
  if (answers.size < MOST_ANSWERS) answers.set(plain(target), sources);
}

/** Texts that differ in digits, white space and punctuation only may have one translation. */
function plain(text: string): string {
  return normalText(text)
    .toLowerCase()
    .replaceAll(/[\s\p{P}\p{N}]+/gu, '');
}

/** Whether all rows of an answer are equal: then they are no translations, however short they are. */
function isWhole({ target }: MachineText, own: AnswersSoFar, asked: number): boolean {
  return asked >= LEAST_ROWS && (own.get(plain(target))?.size ?? 0) >= Math.min(asked, REMEMBERED);
}

function repeatedAnswer(
  { source, target }: MachineText,
  answers: AnswersSoFar,
  isEverywhere: boolean,
): Finding[] {
  const sources = answers.get(plain(target)) ?? new Set();
  if (plain(target) === '') return [];
  const long = [...sources].filter((each) => each.length >= LONG_SOURCE).length;
  const isLong = long > MOST_SOURCES.long && plain(source).length >= LONG_SOURCE;
  if (!isEverywhere && !isLong && sources.size <= MOST_SOURCES.short) return [];
  const message = `${shown(target)} is the translation of ${sources.size < REMEMBERED ? sources.size : `${REMEMBERED} or more`} different texts`;
  return [finding('answer_repeated', message)];
}

/** The direction in which translations are shifted, in words; `null` when they are not. */
function shiftOf(texts: readonly MachineText[]): string | null {
  const sources = texts.map(({ source }) => featuresOf(source));
  const targets = texts.map(({ target }) => featuresOf(target));
  for (const [step, name] of [
    [1, 'next'],
    [-1, 'previous'],
  ] as const) {
    const telling = targets.flatMap((target, at) => {
      const [own, other] = [sources[at], sources[at + step]];
      if (own === undefined || other === undefined || own === other) return [];
      return target === other ? [1] : target === own ? [-1] : [0];
    });
    const fits = telling.filter((each) => each === 1).length;
    const isShifted = fits >= LEAST_ROWS && fits >= telling.length * 0.8 && !telling.includes(-1);
    if (isShifted) return `the translations of this answer fit the ${name} texts better than their own`;
  }
  return null;
}

const ENDS: Readonly<Record<string, string>> = { '？': '?', '！': '!', '。': '.', '…': '.' };

/** What a translation has in common with its source, whatever the languages: numbers, Latin words, and the kind of the last mark. */
function featuresOf(text: string): string {
  const numbers = text.normalize('NFKC').match(/\d+/g) ?? [];
  const last = /[?!？！。….][^\p{L}\p{N}]*$/u.exec(text)?.[0]?.[0] ?? '';
  return JSON.stringify([numbers.toSorted(), ENDS[last] ?? last]);
}

interface Script {
  readonly own: RegExp;
  readonly name: string;
}

const HAN: Script = { own: /\p{Script=Han}/u, name: 'Han' };
/** Scripts of languages that are not written in Latin letters. */
const SCRIPTS: Readonly<Record<string, Script>> = {
  ...Object.fromEntries(HAN_LANGUAGES.map((language) => [language, HAN])),
  ja: { own: /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]/u, name: 'Japanese' },
  ko: { own: /\p{Script=Hangul}/u, name: 'Hangul' },
  ru: { own: /\p{Script=Cyrillic}/u, name: 'Cyrillic' },
  uk: { own: /\p{Script=Cyrillic}/u, name: 'Cyrillic' },
  th: { own: /\p{Script=Thai}/u, name: 'Thai' },
  ar: { own: /\p{Script=Arabic}/u, name: 'Arabic' },
};
const LATIN: Script = { own: /\p{Script=Latin}/u, name: 'Latin' };
const IN_LATIN: ReadonlySet<string> = new Set([
  'en',
  'de',
  'fr',
  'es',
  'it',
  'pt',
  'nl',
  'pl',
  'cs',
  'sv',
  'da',
  'nb',
  'no',
  'fi',
  'hu',
  'ro',
  'tr',
  'vi',
  'id',
  'ms',
]);

function scriptOf(language: string): Script | null {
  const primary = primaryLanguage(language);
  return SCRIPTS[primary] ?? (IN_LATIN.has(primary) ? LATIN : null);
}

/** The letters of a text, without those of its placeholders and tags. */
function lettersOf(text: string): string[] {
  const words = splitPlaceholders(text).filter((_part, index) => index % 2 === 0);
  return words.join(' ').match(/\p{L}/gu) ?? [];
}

function copiedSource(
  { source, target }: MachineText,
  { sourceLanguage, targetLanguage }: MachineLanguages,
): Finding[] {
  if (primaryLanguage(sourceLanguage) === primaryLanguage(targetLanguage)) return [];
  if (normalText(source).trim() !== normalText(target).trim()) return [];
  const [from, to] = [scriptOf(sourceLanguage), scriptOf(targetLanguage)];
  const foreign = lettersOf(source).filter(
    (letter) => from?.own.test(letter) === true && to?.own.test(letter) !== true,
  );
  // A word in Latin letters may be a name, and one in Han may be the same in both languages.
  const isText = from?.name === 'Latin' ? source.trim().split(/\s+/).length > 2 : foreign.length > 0;
  return isText && foreign.length > 1
    ? [finding('source_copied', 'the translation is a copy of the source')]
    : [];
}

const LEAST_LETTERS = 4;

function wrongScript({ source, target }: MachineText, { targetLanguage }: MachineLanguages): Finding[] {
  const script = scriptOf(targetLanguage);
  if (script === null || normalText(source) === normalText(target)) return [];
  const letters = lettersOf(target);
  if (letters.length < LEAST_LETTERS) return [];
  const known = new Set(lettersOf(source));
  const foreign = letters.filter((letter) => !script.own.test(letter) && !known.has(letter));
  const inLatin = foreign.filter((letter) => LATIN.own.test(letter)).length;
  // Names may be in Latin letters. A whole sentence in Latin letters is in another language.
  const isSentence = inLatin === foreign.length && target.trim().split(/\s+/).length > 2;
  const others = foreign.length - inLatin;
  const isMost = foreign.length > letters.length / 2 && (others > inLatin || isSentence);
  if (isMost) {
    return [finding('wrong_script', `most letters of the translation are not ${script.name} letters`)];
  }
  // Kana have a check of their own.
  const stray = foreign.find(
    (letter) => !LATIN.own.test(letter) && !/[\p{Script=Hiragana}\p{Script=Katakana}ー]/u.test(letter),
  );
  if (stray === undefined) return [];
  const message = `the translation has ${shown(stray)}, which is neither a ${script.name} nor a Latin letter`;
  return [finding('wrong_script', message, { severity: 'warning' })];
}

function movedPlaceholder({ source, target }: MachineText): Finding[] {
  const [beginning = '', first, behind = ''] = splitPlaceholders(target.trim());
  if (first === undefined || beginning.trim() !== '' || lettersOf(behind).length === 0) return [];
  const parts = splitPlaceholders(source.trim());
  const at = parts.findIndex((part, index) => index % 2 === 1 && part === first);
  const around = [parts.slice(0, Math.max(0, at)), parts.slice(at + 1)];
  if (at === -1 || around.some((some) => lettersOf(some.join('')).length < 2)) return [];
  const message = `${shown(first)} stands within the source and at the beginning of the translation`;
  return [finding('token_moved', message)];
}
