/**
 * Indexes definitions by name.
 *
 * @throws Error when two definitions have the same name
 */
export function byName<T extends { readonly name: string }>(defined: readonly T[]): ReadonlyMap<string, T> {
  const found = new Map<string, T>();
  for (const each of defined) {
    if (found.has(each.name)) throw new Error(`${each.name} is defined twice`);
    found.set(each.name, each);
  }
  return found;
}
