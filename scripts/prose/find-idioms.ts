import { IDIOMS } from './idioms.ts';
import { passagesOf } from './passages.ts';

/** An idiom in a file. */
export interface Finding {
  readonly line: number;
  readonly words: string;
  readonly hint: string;
}

/** Finds the idioms of {@link IDIOMS} in the text for people of a file, in the order of the lines. */
export function findIdioms(path: string, text: string): Finding[] {
  const found = passagesOf(path, text).flatMap((passage) =>
    IDIOMS.flatMap(({ pattern, hint }) =>
      [...passage.text.matchAll(pattern)].map((match) => ({
        line: passage.line + passage.text.slice(0, match.index).split('\n').length - 1,
        words: match[0].replaceAll(/\s+/g, ' ').trim(),
        hint,
      })),
    ),
  );
  return found.sort((left, right) => left.line - right.line);
}
