/** Whether a text is a language tag, as `ja` or `zh-Hans`. Source: BCP 47, RFC 5646. */
export function isLanguageTag(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1;
  } catch {
    return false;
  }
}

/** A language tag in its usual case. @throws RangeError for a text that is none */
export function canonicalLanguageTag(tag: string): string {
  return Intl.getCanonicalLocales(tag)[0] ?? tag;
}

/**
 * Whether two language tags name the same language in the same script: `zh-CN` and `zh-Hans` do, `zh-TW` does not. Files of
 * other programs name a language by a country where others name the script.
 */
export function isSameLanguage(left: string, right: string): boolean {
  if (left.toLowerCase() === right.toLowerCase()) return true;
  if (!isLanguageTag(left) || !isLanguageTag(right)) return false;
  const [one, other] = [new Intl.Locale(left).maximize(), new Intl.Locale(right).maximize()];
  return one.language === other.language && one.script === other.script;
}
