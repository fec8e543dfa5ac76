import { createGlobTest, GlobError } from './glob.ts';

/** Which destinations a list names. */
export interface GlobLists {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/** The lists alone, such as for another thread. */
export function fileLists({ include, exclude }: GlobLists): GlobLists {
  return { include, exclude };
}

/** The reason why a glob is malformed, or `null`. */
export function globProblem(glob: string): string | null {
  if (glob.startsWith('/')) return 'must not begin with "/": destinations are relative';
  if (glob.startsWith('!')) return 'must not begin with "!": use the other one of include and exclude';
  try {
    createGlobTest(glob);
    return null;
  } catch (error) {
    if (error instanceof GlobError) return error.message;
    throw error;
  }
}

/** Makes the test which files the lists name: every one when they name nothing. See {@link createGlobFilter}. */
export function createFileTest(lists: GlobLists): (destination: string) => boolean {
  return createGlobFilter(lists) ?? (() => true);
}

/**
 * Makes the test whether a destination is named.
 *
 * @param lists globs without a {@link globProblem}
 * @returns `null` when the lists name every destination
 */
export function createGlobFilter({ include, exclude }: GlobLists): ((destination: string) => boolean) | null {
  if (include.length === 0 && exclude.length === 0) return null;
  const included = include.map(createGlobTest);
  const excluded = exclude.map(createGlobTest);
  return (destination) =>
    (included.length === 0 || included.some((test) => test(destination))) &&
    !excluded.some((test) => test(destination));
}
