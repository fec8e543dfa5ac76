/** A word that a shell may insert. */
export interface Candidate {
  readonly value: string;
  readonly meaning: string;
}

/** The words that fit at one place of a command line. */
export interface Completion {
  readonly candidates: readonly Candidate[];
  readonly files: boolean;
}

/** Nothing can be completed. */
export const NOTHING: Completion = { candidates: [], files: false };
/** Names of files. */
export const FILES: Completion = { candidates: [], files: true };

const MAX_CANDIDATES = 500;
/** A shell inserts the words as they are, so they consist of characters that mean nothing to it. */
const PLAIN_WORD = /^[\w.:/@+,=-]+$/;

/** Directives to the shell, as in Cobra's protocol, which kubectl also uses with its plugins. */
const NO_SPACE = 2;
const NO_FILES = 4;

/** Words without a meaning, such as ids. */
export function wordsOnly(values: readonly string[]): Completion {
  return { candidates: values.map((value) => ({ value, meaning: '' })), files: false };
}

/**
 * Renders what the scripts of the shells read: a line `VALUE<TAB>MEANING` for each candidate that begins with the typed
 * word, then `:` and a directive.
 *
 * @param typed the word before the cursor
 */
export function renderCompletion({ candidates, files }: Completion, typed: string): string {
  const fitting = candidates
    .filter(({ value }) => value.startsWith(typed) && PLAIN_WORD.test(value))
    .slice(0, MAX_CANDIDATES);
  const lines = fitting.map(({ value, meaning }) => (meaning === '' ? value : `${value}\t${meaning}`));
  // A value follows the equals sign, not the next word.
  const isOpen = fitting.length > 0 && fitting.every(({ value }) => value.endsWith('='));
  const directive = (isOpen ? NO_SPACE : 0) + (files ? 0 : NO_FILES);
  return [...lines, `:${directive}`].map((line) => `${line}\n`).join('');
}
