/** Scripts that tell text of a language from identifiers. `any`: every text that is not blank. */
export const SOURCE_SCRIPTS = ['japanese', 'chinese', 'korean', 'cyrillic', 'thai', 'latin', 'any'] as const;

type SourceScript = (typeof SOURCE_SCRIPTS)[number];

const PATTERNS: Readonly<Record<SourceScript, RegExp>> = {
  japanese: /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u,
  chinese: /\p{Script=Han}/u,
  korean: /\p{Script=Hangul}/u,
  cyrillic: /\p{Script=Cyrillic}/u,
  thai: /\p{Script=Thai}/u,
  latin: /\p{Script=Latin}/u,
  any: /\S/u,
};

/** Makes the test whether a text holds at least one character of a script. Source: Unicode Standard Annex 24. */
export function createScriptTest(script: SourceScript): (text: string) => boolean {
  const pattern = PATTERNS[script];
  return (text) => pattern.test(text);
}
