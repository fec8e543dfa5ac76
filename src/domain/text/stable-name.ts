/**
 * Runs of letters and digits that a build tool derives from contents, as in `ui_assets_all_0f3c...b2.bundle`: 16 or more
 * hexadecimal digits, or a CRC-32 of 8 to 10 decimal digits behind an underscore at the end of the name. Digits that can be a
 * date, or a date and an hour, are not taken for a CRC-32.
 */
const HEXADECIMAL_HASH = /(?<![0-9A-Za-z])(?=[0-9A-Fa-f]*[0-9])[0-9A-Fa-f]{16,}(?![0-9A-Za-z])/g;
const DATE = '(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?:[01][0-9]|2[0-3])?';
const DECIMAL_HASH = new RegExp(String.raw`(?<=_)(?!${DATE}\.)[1-9][0-9]{7,9}(?=\.[A-Za-z]+$)`);

/**
 * A name without the parts that change with its contents; each is replaced by `*`.
 *
 * @param name a destination or the name of an archive entry
 */
export function stableName(name: string): string {
  return name.replace(HEXADECIMAL_HASH, '*').replace(DECIMAL_HASH, '*');
}

/**
 * The stable names of siblings: the destinations of a release, or the entries of an archive. Where two siblings would
 * share a stable name, both keep their exact names. So the stable name of one changes when a second one is added; nothing in
 * the names tells which of them it was.
 *
 * @param names exact names, each once
 * @param stable gives the stable name of one name
 * @returns the stable name of each name, and the names that had to keep their exact one
 */
export function stableNames(
  names: Iterable<string>,
  stable: (name: string) => string = stableName,
): { readonly keys: ReadonlyMap<string, string>; readonly ambiguous: readonly string[] } {
  const byKey = new Map<string, string[]>();
  for (const name of names) {
    const key = stable(name);
    const siblings = byKey.get(key);
    if (siblings === undefined) byKey.set(key, [name]);
    else siblings.push(name);
  }
  const keys = new Map<string, string>();
  const ambiguous: string[] = [];
  for (const [key, siblings] of byKey) {
    for (const name of siblings) {
      keys.set(name, siblings.length === 1 ? key : name);
      if (siblings.length > 1) ambiguous.push(name);
    }
  }
  return { keys, ambiguous };
}
