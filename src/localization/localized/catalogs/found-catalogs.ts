import { baseName, type PartPlace, type ReleaseFile } from './release-files.ts';
import { createNameSearch } from './name-search.ts';
import { readableOrNull } from './open-container.ts';
import { catalogParts, type PartFilter } from './part-reader.ts';
import type { SameNames } from './rewrite-catalog.ts';
import { sidecarStem, stemsOf } from './sidecars.ts';
import { compareDestinations } from '../../../domain/release/destination.ts';

interface FoundCatalog {
  readonly place: PartPlace;
  /** Where the official file is that it is, or that has it. */
  readonly official: string;
  /** The names of changed files that occur in it, and others that were searched for. */
  readonly names: ReadonlySet<string>;
}

/** The result of searches in a release. It holds for every file that stays the same. */
export interface SearchState {
  readonly paths: readonly string[];
  readonly found: readonly (Omit<FoundCatalog, 'names'> & { readonly names: readonly string[] })[];
  readonly sameNames: readonly (readonly [string, readonly PartPlace[]])[];
}

/** Most names and files in a {@link SearchState}; with more of them, the next search starts from the beginning. */
const MOST_KEPT = 200_000;

/** All that was found, by path, and what else was seen meanwhile. */
export class FoundCatalogs {
  readonly #filter: PartFilter;
  readonly #searched: Set<string>;
  readonly #byPath: Map<string, FoundCatalog & { readonly names: Set<string> }>;
  readonly #sameNames: Map<string, PartPlace[]>;

  /** @param known by earlier searches; see {@link FoundCatalogs.follow} when official files have changed since */
  constructor(filter: PartFilter, known: SearchState = { paths: [], found: [], sameNames: [] }) {
    const { paths, found, sameNames } = known;
    this.#filter = filter;
    this.#searched = new Set(paths);
    this.#byPath = new Map(found.map((each) => [each.place.path, { ...each, names: new Set(each.names) }]));
    this.#sameNames = new Map(sameNames.map(([name, places]) => [name, [...places]]));
  }

  get all(): Iterable<FoundCatalog> {
    return this.#byPath.values();
  }

  get sameNames(): SameNames {
    return this.#sameNames;
  }

  /**
   * Searches every official file that can be a catalog: those state the figures of official files.
   *
   * @param changed paths of files; those that were searched for before cost nothing
   * @throws FormatError `file_unreadable`, Error of the system
   */
  search(files: Iterable<ReleaseFile>, changed: Iterable<string>): void {
    const fresh = [...changed].filter((path) => !this.#searched.has(path));
    if (fresh.length === 0) return;
    for (const path of fresh) this.#searched.add(path);
    const names = new Set(fresh.map(baseName).filter((name) => !this.#sameNames.has(name)));
    for (const name of names) this.#sameNames.set(name, []);
    this.#searchIn(files, names, fresh);
  }

  /**
   * Follows official files that have changed since the searches: forgets those that are gone, and searches the new ones and those
   * with other bytes for all that was searched for.
   *
   * @param before the files of the last search; as the others in the order of destinations
   * @throws FormatError `file_unreadable`, Error of the system
   */
  follow(files: Iterable<ReleaseFile>, before: Iterable<ReleaseFile>): void {
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
    this.#searchIn(renewedFiles(files, before), names, this.#searched);
  }

  #destinations(): Set<string> {
    const catalogs = Array.from(this.#byPath.values(), ({ place }) => place);
    return new Set(
      [...catalogs, ...[...this.#sameNames.values()].flat()].map(({ destination }) => destination),
    );
  }

  #searchIn(files: Iterable<ReleaseFile>, names: ReadonlySet<string>, paths: Iterable<string>): void {
    const search = createNameSearch(names);
    const beside = new Set([...paths].flatMap((path) => [...stemsOf(path), `${path}.manifest`]));
    const onFile = (place: PartPlace): void => {
      const name = baseName(place.path);
      if (names.has(name)) this.#sameNames.get(name)?.push(place);
    };
    for (const file of files) {
      const parts = catalogParts(file.official, file.destination, this.#filter, onFile);
      for (const { read, isClosed, ...place } of parts) {
        const bytes = readableOrNull(read);
        if (bytes === null) continue;
        // What nobody can look into can name all of them.
        const found = isClosed === true ? names : search.find(bytes);
        const isBeside = beside.has(sidecarStem(place.path) ?? place.path);
        if (found.size > 0 || isBeside) this.#note(place, file.official, found);
      }
    }
  }

  /** For a later search in the same official files; `null` when it would be too large. */
  state(): SearchState | null {
    const found = Array.from(this.#byPath.values(), (each) => ({ ...each, names: [...each.names] }));
    const sameNames = [...this.#sameNames];
    const kept =
      this.#searched.size +
      found.reduce((sum, { names }) => sum + names.length, 0) +
      sameNames.reduce((sum, [, places]) => sum + places.length, 0);
    return kept > MOST_KEPT ? null : { paths: [...this.#searched], found, sameNames };
  }

  #note(place: PartPlace, official: string, names: ReadonlySet<string>): void {
    const known = this.#byPath.get(place.path) ?? { place, official, names: new Set<string>() };
    for (const name of names) known.names.add(name);
    this.#byPath.set(place.path, known);
  }
}

/** Compares the files of a release with those of an earlier one. Both are in the order of destinations, and read as streams. */
function* comparedFiles(
  files: Iterable<ReleaseFile>,
  before: Iterable<ReleaseFile>,
): Generator<{
  readonly file: ReleaseFile;
  readonly isRenewed: boolean;
}> {
  const earlier = Iterator.from(before);
  let old = earlier.next();
  for (const file of files) {
    while (old.done !== true && compareDestinations(old.value.destination, file.destination) < 0)
      old = earlier.next();
    const known = old.done === true ? null : old.value;
    const isSame = known?.destination === file.destination && known.official === file.official;
    yield { file, isRenewed: !isSame };
  }
}

/** The files of {@link comparedFiles} that are new or have another object. */
function* renewedFiles(files: Iterable<ReleaseFile>, before: Iterable<ReleaseFile>): Generator<ReleaseFile> {
  for (const { file, isRenewed } of comparedFiles(files, before)) if (isRenewed) yield file;
}
