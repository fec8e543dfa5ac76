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

/** Names of .NET that are no language tags. */
const OTHER_NAMES: Readonly<Record<string, string>> = { 'zh-chs': 'zh-Hans', 'zh-cht': 'zh-Hant' };

/**
 * Whether two language tags name the same language in the same script, and no two regions: `zh-CN` and `zh-Hans` do, `zh-TW` does
 * not, nor do `pt-BR` and `pt-PT`. Files of other programs name a language by a country where others name the script, and write `_`
 * for `-`. Source: RFC 4647, section 3.4; the likely subtags of Unicode.
 */
export function isSameLanguage(left: string, right: string): boolean {
  if (left.toLowerCase() === right.toLowerCase()) return true;
  const [one, other] = [localeOf(left), localeOf(right)];
  if (one === null || other === null) return false;
  const [ones, others] = [one.maximize(), other.maximize()];
  if (ones.language !== others.language || ones.script !== others.script) return false;
  return one.region === undefined || other.region === undefined || one.region === other.region;
}

function localeOf(name: string): Intl.Locale | null {
  const tag = name.trim().replaceAll('_', '-');
  const known = OTHER_NAMES[tag.toLowerCase()] ?? tag;
  return isLanguageTag(known) ? new Intl.Locale(known) : null;
}
