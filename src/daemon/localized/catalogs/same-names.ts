import type { FileChange } from '../../formats/catalogs/catalog-plugin.ts';
import { baseName } from './base-name.ts';
import type { PartPlace } from './release-files.ts';

/** Files of a release with the name of a changed file, by that name. */
export type SameNames = ReadonlyMap<string, readonly PartPlace[]>;

/**
 * The changes that a catalog can mean. A catalog names a bundle without its folder, and the releases for Android and iOS have
 * bundles of one name: of those, the catalog means the nearest, which is the one with the most folders in common. Where a
 * file that is not changed is as near, it is among the results with the same figures before and after, so that the figures
 * in the catalog tell which one is meant.
 *
 * @param sameNames every file of the release with the name of a changed bundle
 * @param unchanged gives a file that is not changed as one that stays
 */
export function changesFor(
  catalog: string,
  changes: readonly FileChange[],
  sameNames: SameNames,
  unchanged: (place: PartPlace) => FileChange,
): readonly FileChange[] {
  const result: FileChange[] = [];
  const byName = Map.groupBy(changes, ({ path, bundle }) => (bundle === undefined ? '' : baseName(path)));
  for (const [name, group] of byName) {
    const all = name === '' ? [] : (sameNames.get(name) ?? []);
    if (all.length < 2) {
      result.push(...group);
      continue;
    }
    const byPath = new Map(group.map((change) => [change.path, change]));
    const distances = all.map(({ path }) => commonFolders(catalog, path));
    const nearest = Math.max(...distances);
    const near = all.filter((_path, index) => distances[index] === nearest);
    if (!near.some(({ path }) => byPath.has(path))) continue;
    for (const place of near) result.push(byPath.get(place.path) ?? unchanged(place));
  }
  return result;
}

function commonFolders(left: string, right: string): number {
  const [one, other] = [left.split('/').slice(0, -1), right.split('/').slice(0, -1)];
  const first = one.findIndex((folder, index) => folder !== other[index]);
  return first === -1 ? one.length : first;
}
