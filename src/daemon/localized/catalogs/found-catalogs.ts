import { baseName } from './base-name.ts';
import { createNameSearch } from './name-search.ts';
import { catalogParts, readableOrNull, type PartFilter, type Passwords } from './part-reader.ts';
import type { PartPlace, ReleaseFile } from './release-files.ts';
import { comparedFiles, renewedFiles } from './renewed-files.ts';
import type { SameNames } from './same-names.ts';
import { sidecarStem, stemsOf } from './sidecars.ts';

/** A file that states something about changed files, as it seems. */
export interface FoundCatalog {
  readonly place: PartPlace;
  /** The names of changed files that stand in it, and others that were searched for. */
  readonly names: ReadonlySet<string>;
}

/** The result of searches in a release. It holds for every file that stays the same. */
export interface SearchState {
  /** The paths of the files that were searched for. */
  readonly paths: readonly string[];
  readonly found: readonly { readonly place: PartPlace; readonly names: readonly string[] }[];
  readonly sameNames: readonly (readonly [string, readonly PartPlace[]])[];
}

/** Most names and files in a {@link SearchState}; with more of them, the next search starts from the beginning. */
const MOST_KEPT = 200_000;

/** All that was found, by path, and what else was seen on the way. */
export class FoundCatalogs {
  readonly #searched: Set<string>;
  readonly #byPath: Map<string, FoundCatalog & { readonly names: Set<string> }>;
  readonly #sameNames: Map<string, PartPlace[]>;

  /** @param known by earlier searches; see {@link FoundCatalogs.follow} when official files have changed since */
  constructor({ paths, found, sameNames }: SearchState = { paths: [], found: [], sameNames: [] }) {
    this.#searched = new Set(paths);
    this.#byPath = new Map(found.map(({ place, names }) => [place.path, { place, names: new Set(names) }]));
    this.#sameNames = new Map(sameNames.map(([name, places]) => [name, [...places]]));
  }

  /** The catalogs, in the order in which they were found. */
  get all(): Iterable<FoundCatalog> {
    return this.#byPath.values();
  }

  /** All files of the release that have the name of a changed file. */
  get sameNames(): SameNames {
    return this.#sameNames;
  }

  /**
   * Searches every official file that can be a catalog: those state the figures of official files.
   *
   * @param changed paths of files; those that were searched for before cost nothing
   * @throws FormatError `file_unreadable`, Error of the system
   */
  search(
    files: Iterable<ReleaseFile>,
    changed: Iterable<string>,
    passwords: Passwords,
    filter: Omit<PartFilter, 'onFile'>,
  ): void {
    const fresh = [...changed].filter((path) => !this.#searched.has(path));
    if (fresh.length === 0) return;
    for (const path of fresh) this.#searched.add(path);
    const names = new Set(fresh.map(baseName).filter((name) => !this.#sameNames.has(name)));
    for (const name of names) this.#sameNames.set(name, []);
    this.#searchIn(files, { names, paths: fresh }, passwords, filter);
  }

  /**
   * Follows official files that have changed since the searches: forgets those that are gone, and searches the new ones and those
   * with other bytes for all that was searched for.
   *
   * @param before the files of the last search; as the others in the order of destinations
   * @throws FormatError `file_unreadable`, Error of the system
   */
  follow(
    files: Iterable<ReleaseFile>,
    before: Iterable<ReleaseFile>,
    passwords: Passwords,
    filter: Omit<PartFilter, 'onFile'>,
  ): void {
    const gone = this.#destinations();
    for (const { file, isRenewed } of comparedFiles(files, before)) {
      if (!isRenewed) gone.delete(file.destination);
    }
    for (const [path, { place }] of this.#byPath) if (gone.has(place.destination)) this.#byPath.delete(path);
    for (const [name, places] of this.#sameNames) {
      this.#sameNames.set(
        name,
        places.filter(({ destination }) => !gone.has(destination)),
      );
    }
    const names = new Set(this.#sameNames.keys());
    this.#searchIn(renewedFiles(files, before), { names, paths: this.#searched }, passwords, filter);
  }

  #destinations(): Set<string> {
    const catalogs = Array.from(this.#byPath.values(), ({ place }) => place);
    return new Set(
      [...catalogs, ...[...this.#sameNames.values()].flat()].map(({ destination }) => destination),
    );
  }

  #searchIn(
    files: Iterable<ReleaseFile>,
    { names, paths }: { readonly names: ReadonlySet<string>; readonly paths: Iterable<string> },
    passwords: Passwords,
    filter: Omit<PartFilter, 'onFile'>,
  ): void {
    const search = createNameSearch(names);
    const beside = new Set([...paths].flatMap((path) => [...stemsOf(path), `${path}.manifest`]));
    const onFile = (place: PartPlace): void => {
      const name = baseName(place.path);
      if (names.has(name)) this.#sameNames.get(name)?.push(place);
    };
    for (const file of files) {
      const parts = catalogParts(file.official, file.destination, passwords, {
        ...filter,
        onFile,
      });
      for (const { read, ...place } of parts) {
        const bytes = readableOrNull(read);
        if (bytes === null) continue;
        const found = search.find(bytes);
        const isBeside = beside.has(sidecarStem(place.path) ?? place.path);
        if (found.size > 0 || isBeside) this.#note(place, found);
      }
    }
  }

  /** For a later search in the same official files; `null` when it would be too large. */
  state(): SearchState | null {
    const found = Array.from(this.#byPath.values(), ({ place, names }) => ({ place, names: [...names] }));
    const sameNames = [...this.#sameNames];
    const kept =
      this.#searched.size +
      found.reduce((sum, { names }) => sum + names.length, 0) +
      sameNames.reduce((sum, [, places]) => sum + places.length, 0);
    return kept > MOST_KEPT ? null : { paths: [...this.#searched], found, sameNames };
  }

  #note(place: PartPlace, names: ReadonlySet<string>): void {
    const known = this.#byPath.get(place.path) ?? { place, names: new Set<string>() };
    for (const name of names) known.names.add(name);
    this.#byPath.set(place.path, known);
  }
}
