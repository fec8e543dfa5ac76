// Reading the names takes 15 ms, so they are read on first use.
let names: Intl.DisplayNames | undefined;

/** The English name of a language, such as "Simplified Chinese" for `zh-Hans`; what is no language tag stays as it is. */
export function languageName(tag: string): string {
  try {
    names ??= new Intl.DisplayNames(['en'], { type: 'language' });
    return names.of(tag) ?? tag;
  } catch {
    return tag;
  }
}
