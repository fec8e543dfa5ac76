import { createGlobFilter } from '../../../platform/config/glob-filter.ts';
import { stableName, stableNames } from '../../../domain/text/stable-name.ts';
import type { ParseIssue } from './parsed-container.ts';

/** The stable names of the destinations of one release. */
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
 * Names the destinations of a release: by the first glob that a destination matches, else without its hashes. Where two
 * would share a name, both keep their exact one.
 *
 * @param destinations every destination of the release; read twice
 * @param globs globs of destinations whose parts under `*` vary from release to release (`parse.stableNames`)
 */
export function destinationKeys(destinations: Iterable<string>, globs: readonly string[]): DestinationKeys {
  const named = globs.map((glob) => ({
    glob,
    matches: createGlobFilter({ include: [glob], exclude: [] }) ?? (() => true),
  }));
  const names = stableNames(
    destinations,
    (destination) => named.find(({ matches }) => matches(destination))?.glob ?? stableName(destination),
  );
  return {
    keyOf: (destination) => names.keyOf(destination),
    ambiguity: (destination, format) =>
      names.isAmbiguous(destination) ? ambiguousName(destination, format) : null,
  };
}

function ambiguousName(destination: string, format: string): ParseIssue {
  return {
    archiveEntry: null,
    pathId: null,
    classId: null,
    format,
    fieldPath: null,
    code: 'duplicate_unit_key',
    message: `another file has the same name as ${destination} without its hash, so both keep their exact names`,
  };
}
