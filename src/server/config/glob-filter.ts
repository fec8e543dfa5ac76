import picomatch from 'picomatch';

/** Globs of destinations. `*` stays within one segment, `**` does not; names that begin with a dot count as well. */
const OPTIONS = { dot: true, strictBrackets: true, windows: false } as const;

/** Which destinations a list names. */
export interface GlobLists {
  /** A destination must match one of these; empty means every destination. */
  readonly include: readonly string[];
  /** A destination that matches one of these is left out. */
  readonly exclude: readonly string[];
}

/** What is wrong with a glob, or `null`. */
export function globProblem(glob: string): string | null {
  if (glob.startsWith('/')) return 'must not begin with "/": destinations are relative';
  if (glob.startsWith('!') && !glob.startsWith('!('))
    return 'must not begin with "!": use the other one of include and exclude';
  try {
    picomatch(glob, OPTIONS);
    return null;
  } catch (error) {
    return `is not a glob: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/**
 * Makes the test whether a destination is named.
 *
 * @param lists globs without a {@link globProblem}
 * @returns `null` when the lists name every destination
 */
export function createGlobFilter({ include, exclude }: GlobLists): ((destination: string) => boolean) | null {
  if (include.length === 0 && exclude.length === 0) return null;
  const isIncluded = include.length === 0 ? () => true : picomatch([...include], OPTIONS);
  const isExcluded = exclude.length === 0 ? () => false : picomatch([...exclude], OPTIONS);
  return (destination) => isIncluded(destination) && !isExcluded(destination);
}
