import { createFileTest } from '../../../platform/config/glob-filter.ts';
import { stableName, stableNames } from '../../../domain/text/stable-name.ts';
import { type ParseIssue, repeatedName } from './parsed-container.ts';
import { locationOf } from './container-run.ts';

export interface DestinationKeys {
  keyOf(destination: string): string;
  /**
   * The warning for a destination that shares its stable name with another one; `null` for the others.
   *
   * @param format the format of the container
   */
  ambiguity(destination: string, format: string): ParseIssue | null;
}

/**
 * Names the destinations of a release: by the first glob that a destination matches, otherwise without its hashes. Where two
 * would share a name, both keep their exact one.
 *
 * @param destinations begins to list every destination of the release; called twice
 * @param globs globs of destinations whose parts under `*` vary from release to release (`parse.stableNames`)
 */
export function destinationKeys(
  destinations: () => Iterable<string>,
  globs: readonly string[],
): DestinationKeys {
  const named = globs.map((glob) => ({
    glob,
    matches: createFileTest({ include: [glob], exclude: [] }),
  }));
  const names = stableNames(
    destinations,
    (destination) => named.find(({ matches }) => matches(destination))?.glob ?? stableName(destination),
  );
  return {
    keyOf: (destination) => names.keyOf(destination),
    ambiguity: (destination, format) => {
      if (!names.isAmbiguous(destination)) return null;
      const { code, message } = repeatedName(destination);
      return { ...locationOf({ entry: null }, format), fieldPath: null, code, message };
    },
  };
}
