/** A text that is looked for in others, in upper or lower case. */
export interface SearchedText {
  /** Whether a text has it. */
  readonly isIn: (text: string) => boolean;
  /**
   * A pattern of SQL's `LIKE`, with `\` before characters of its own, that fits exactly the same texts; `null` where only `isIn`
   * can tell: SQL knows the case of ASCII letters alone.
   */
  readonly likePattern: string | null;
}

/** Prepares the search for a text. */
export function searchFor(text: string): SearchedText {
  const folded = text.toLowerCase();
  const beyondAscii = text.replaceAll(/\p{ASCII}/gu, '');
  const hasCase = beyondAscii.toLowerCase() !== beyondAscii.toUpperCase();
  return {
    isIn: (other) => other.toLowerCase().includes(folded),
    likePattern: hasCase ? null : `%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`,
  };
}
