import { completeCtl, type ListNames } from './complete-ctl.ts';
import { FILES, NOTHING, wordsOnly, type Completion } from './completion.ts';
import { PROGRAMS } from './programs.ts';
import { COMPLETION_SHELLS } from './shell-scripts.ts';

/** The sources of the words that a command line can have. */
export interface CompletionSources {
  readonly list: ListNames;
  /** The help of a command of `slipway` beside `ctl`; `null` when there is no such command. */
  readonly usageOf: (program: string) => Promise<string | null>;
}

/**
 * Completes a command line of `slipway`.
 *
 * @param words the words after `slipway`; the last one is completed and may be empty
 */
export async function completeSlipway(
  words: readonly string[],
  { list, usageOf }: CompletionSources,
): Promise<Completion> {
  const [program = '', ...rest] = words;
  if (rest.length === 0) {
    const candidates = PROGRAMS.map(([value, meaning]) => ({ value, meaning }));
    return { candidates, files: false };
  }
  if (program === 'ctl') return await completeCtl(rest, list);
  if (program === 'completion') return wordsOnly(COMPLETION_SHELLS);
  if (program === 'translations' && rest.length === 1) return wordsOnly(['evaluate']);
  const usage = await usageOf(program);
  return usage === null ? NOTHING : completeByUsage(usage, rest);
}

/** Completes by the lines `  --option VALUE  meaning` of a help text, and with files elsewhere. */
function completeByUsage(usage: string, words: readonly string[]): Completion {
  const typed = words.at(-1) ?? '';
  const options = [...usage.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)(?: (\S+))? {2,}(.+)$/gmu)].map(
    ([, value = '', placeholder = '', meaning = '']) => ({ value, placeholder, meaning }),
  );
  const before = options.find(({ value }) => value === words.at(-2));
  if (before !== undefined && before.placeholder !== '') {
    return /FILE|DIR/.test(before.placeholder) ? FILES : NOTHING;
  }
  return typed.startsWith('-') ? { candidates: options, files: false } : FILES;
}
