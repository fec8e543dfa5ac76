/** The columns that a table can have. */
export interface TableColumns<C extends string> {
  readonly columns: readonly C[];
  /** Other names of columns, in lower case. They count where the name itself is not there. */
  readonly aliases: Readonly<Record<string, C>>;
  /** The columns that every table has. */
  readonly required: readonly [source: C, target: C];
}

interface FoundColumns<C extends string> {
  /** By their places. */
  readonly columns: ReadonlyMap<number, C>;
  /** A needed column that is missing, or a column that is named several times; `null` when the table can be read. */
  readonly fault: { readonly column: C; readonly count: number } | null;
}

/** Finds the columns that the first row of a table names, in any order and case. Other names are left out. */
export function findColumns<C extends string>(
  names: Iterable<readonly [place: number, name: string]>,
  { columns, aliases, required }: TableColumns<C>,
): FoundColumns<C> {
  const given = Array.from(names, ([place, name]) => ({ place, name: name.trim().toLowerCase() }));
  const found = new Map<number, C>();
  let fault: FoundColumns<C>['fault'] = null;
  for (const column of columns) {
    const exact = given.filter(({ name }) => name === column);
    const others = given.filter(({ name }) => Object.hasOwn(aliases, name) && aliases[name] === column);
    const places = exact.length > 0 ? exact : others;
    for (const { place } of places) found.set(place, column);
    if (places.length > 1) fault ??= { column, count: places.length };
  }
  const missing = required.find((column) => ![...found.values()].includes(column));
  return { columns: found, fault: missing === undefined ? fault : { column: missing, count: 0 } };
}
