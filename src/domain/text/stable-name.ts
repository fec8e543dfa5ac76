/**
 * Runs of letters and digits that a build tool derives from contents, as in `ui_assets_all_0f3c...b2.bundle`: 16 or more
 * hexadecimal digits, or a CRC-32 of 8 to 10 decimal digits behind an underscore at the end of the name. Digits that can be a
 * date, or a date and an hour, are not taken for a CRC-32.
 */
const HEXADECIMAL_HASH = /(?<![0-9A-Za-z])(?=[0-9A-Fa-f]*[0-9])[0-9A-Fa-f]{16,}(?![0-9A-Za-z])/g;
const DATE = '(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?:[01][0-9]|2[0-3])?';
const DECIMAL_HASH = new RegExp(String.raw`(?<=_)(?!${DATE}\.)[1-9][0-9]{7,9}(?=\.[A-Za-z]+$)`);

/** A name without the parts that change with its contents; each is replaced by `*`. */
export function stableName(name: string): string {
  return name.replace(HEXADECIMAL_HASH, '*').replace(DECIMAL_HASH, '*');
}

interface StableNames {
  keyOf(name: string): string;
  /** Whether a sibling keeps its exact name, because another one has the same stable name. */
  isAmbiguous(name: string): boolean;
}

/**
 * The stable names of siblings: the destinations of a release, or the entries of an archive. Where two siblings would
 * share a stable name, both keep their exact names; so the stable name of one changes when a second one is added, because
 * nothing tells which of them it was. Only names that have an unstable part are kept in memory.
 *
 * @param names begins to list the exact names; called twice
 */
export function stableNames(
  names: () => Iterable<string>,
  stable: (name: string) => string = stableName,
): StableNames {
  const keys = new Map<string, string>();
  const byKey = new Map<string, string[]>();
  for (const name of names()) {
    const key = stable(name);
    if (key === name || keys.has(name)) continue;
    keys.set(name, key);
    const siblings = byKey.get(key);
    if (siblings === undefined) byKey.set(key, [name]);
    else siblings.push(name);
  }
  const ambiguous = new Set<string>();
  for (const name of names()) {
    // A name that is its own stable name.
    if (!keys.has(name) && byKey.has(name)) ambiguous.add(name).add(byKey.get(name)?.[0] ?? name);
  }
  for (const siblings of byKey.values()) {
    if (siblings.length > 1) for (const name of siblings) ambiguous.add(name);
  }
  return {
    keyOf: (name) => (ambiguous.has(name) ? name : (keys.get(name) ?? name)),
    isAmbiguous: (name) => ambiguous.has(name),
  };
}
