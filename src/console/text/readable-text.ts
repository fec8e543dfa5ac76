import { tokensOf } from './text-tokens.ts';

/** Longest beginning that is read, characters. */
const MOST = 300;

/** A text as a reader of a list needs it: without its tags, in one line. Its page shows it as it is stored. */
export function readableText(text: string): string {
  const words = tokensOf(text.slice(0, MOST))
    .map(({ kind, label, start, end }) =>
      kind === 'tag'
        ? ''
        : kind === 'break'
          ? ' '
          : kind === 'invisible'
            ? `⟦${label}⟧`
            : text.slice(start, end),
    )
    .join('')
    .trim();
  // A text of tags alone would have no name.
  return words === '' ? text.slice(0, MOST) : words;
}
