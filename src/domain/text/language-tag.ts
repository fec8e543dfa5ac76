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
