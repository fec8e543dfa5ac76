import { FormatError } from '../../formats/format-error.ts';
import { baseName } from './base-name.ts';
import { createNameSearch } from './name-search.ts';
import { catalogParts, type PartFilter, type Passwords } from './part-reader.ts';
import type { PartPlace, ReleaseFile } from './release-files.ts';
import type { SameNames } from './same-names.ts';
import { sidecarStem, stemsOf } from './sidecars.ts';

/** A file that states something about changed files, as it seems. */
export interface FoundCatalog {
  readonly place: PartPlace;
  readonly file: ReleaseFile;
  /** The names of changed files that stand in it. */
  readonly names: Set<string>;
}

/** All that was found, by path, and what else was seen on the way. */
export class FoundCatalogs {
  readonly #byPath = new Map<string, FoundCatalog>();
  readonly #sameNames = new Map<string, PartPlace[]>();

  /** The catalogs, in the order of the release. */
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
   * @param changed paths of files that were not searched for yet
   * @throws FormatError `file_unreadable`, Error of the system
   */
  search(
    files: Iterable<ReleaseFile>,
    changed: readonly string[],
    passwords: Passwords,
    filter: Omit<PartFilter, 'onFile'>,
  ): void {
    const names = new Set(changed.map(baseName).filter((name) => !this.#sameNames.has(name)));
    for (const name of names) this.#sameNames.set(name, []);
    const search = createNameSearch(names);
    const beside = new Set(changed.flatMap((path) => [...stemsOf(path), `${path}.manifest`]));
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
        const bytes = orNull(read);
        if (bytes === null) continue;
        const found = search.find(bytes);
        const isBeside = beside.has(sidecarStem(place.path) ?? place.path);
        if (found.size > 0 || isBeside) this.#note(file, place, found);
      }
    }
  }

  #note(file: ReleaseFile, place: PartPlace, names: ReadonlySet<string>): void {
    const known = this.#byPath.get(place.path) ?? { place, file, names: new Set() };
    for (const name of names) known.names.add(name);
    this.#byPath.set(place.path, known);
  }
}

/** The bytes of a file; `null` when it is damaged or encrypted. */
function orNull(read: () => Buffer): Buffer | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof FormatError && error.code !== 'file_unreadable') return null;
    throw error;
  }
}
