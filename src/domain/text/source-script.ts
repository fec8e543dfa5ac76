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

/** The scripts of Unicode in which each language of a source script is written. */
const WRITTEN_IN: Readonly<Record<Exclude<SourceScript, 'any'>, readonly string[]>> = {
  // Its pattern has Han characters, so that it finds Chinese texts too.
  japanese: ['Jpan', 'Hira', 'Kana', 'Hrkt', 'Hans', 'Hant', 'Hani'],
  chinese: ['Hans', 'Hant', 'Hani'],
  korean: ['Kore', 'Hang'],
  cyrillic: ['Cyrl'],
  thai: ['Thai'],
  latin: ['Latn'],
};

/**
 * Whether a language is written in another script than the one that tells its texts, so that one of the two settings is wrong.
 *
 * @param language a language tag (BCP 47)
 */
export function isOtherScript(script: SourceScript, language: string): boolean {
  const written = new Intl.Locale(language).maximize().script;
  return script !== 'any' && written !== undefined && !WRITTEN_IN[script].includes(written);
}
