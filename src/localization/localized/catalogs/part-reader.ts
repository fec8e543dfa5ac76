import { bytesSource, type ByteSource } from '../../../formats/byte-source.ts';
import { isBundledCatalog } from '../../../formats/catalogs/bundle-plugins.ts';
import type { SniffedFormat } from '../../../formats/sniff.ts';
import { COMPRESSED_ENTRY, MAX_DEPTH, nestedEntry } from '../../parse/container/container-run.ts';
import type { RuleLookup } from '../../parse/rules/compile-rules.ts';
import { containerKind, formatOf, openContainer, readableOrNull } from './open-container.ts';
import { openReleaseFile, type PartPlace } from './release-files.ts';

interface CatalogPart extends PartPlace {
  readonly read: () => Buffer;
  /** Set for a bundle that holds a catalog by its name and cannot be opened. */
  readonly isClosed?: true;
}

export type Passwords = RuleLookup;

export interface PartFilter {
  readonly passwords: Passwords;
  readonly isCatalogName: (path: string) => boolean;
}

/** Largest catalog, and largest archive in an archive that is searched, in bytes. */
const MAX_CATALOG_BYTES = 128 * 1024 * 1024;

/** Formats that state no figures of other files: programs, pictures, databases and compressed files. Any other file can be a catalog. */
const NO_CATALOGS: ReadonlySet<SniffedFormat> = new Set([
  'unity',
  'serialized',
  'zip',
  'xlsx',
  'office',
  'sqlite',
  'gzip',
  'binary',
]);
/** The names of catalogs in archives. To read the bytes of every entry would mean to decompress all of them. */
const CATALOG_ENTRY =
  /\.(?:json|csv|tsv|txt|xml|ya?ml|bytes|bin|dat|list|lst|hash|manifest|md5|sha\d+|crc\d*)$|(?:^|\/)[^./]+$/i;
const ARCHIVE_ENTRY = /\.zip$/i;

/**
 * Finds the files that can be catalogs: a file of a release, and those in archives and in bundles with the name of a catalog. Files
 * that cannot be read are left out, because the game cannot read them either; but it may know how to open a bundle.
 *
 * @param path of the file on disk
 * @param onFile is called for every file in the container, including those that cannot be catalogs
 * @throws Error when the file itself cannot be opened
 */
export function* catalogParts(
  path: string,
  destination: string,
  filter: PartFilter,
  onFile: (place: PartPlace) => void,
): Generator<CatalogPart> {
  using file = openReleaseFile(path);
  const walk = function* (
    source: ByteSource,
    entry: string | null,
    entries: readonly string[],
  ): Generator<CatalogPart> {
    const place = { path: pathOf(destination, entry), destination, entries };
    const kind = containerKind(source, place.path);
    // Other bundles can begin with the word too.
    if (kind === 'bundle' && source.size > MAX_CATALOG_BYTES) return;
    const container =
      kind === null || entries.length >= MAX_DEPTH
        ? null
        : readableOrNull(() => openContainer(source, place.path));
    // Other bytes can look like a compressed file.
    if (kind === null || (kind === 'zlib' && container === null)) {
      yield* plainPart(source, place, filter);
      return;
    }
    if (container === null && kind === 'bundle')
      yield { ...place, read: () => Buffer.alloc(0), isClosed: true };
    for (const found of container?.entries ?? []) {
      const inner = nestedEntry(entry, found.name);
      const innerPlace = {
        path: pathOf(destination, inner),
        destination,
        entries: [...entries, found.name],
      };
      if (found.name !== COMPRESSED_ENTRY) onFile(innerPlace);
      const read = (): Buffer =>
        found.read(passwordOf(filter.passwords, destination, entry, found.name) ?? undefined);
      if (found.size > MAX_CATALOG_BYTES) continue;
      if (ARCHIVE_ENTRY.test(found.name) || isBundledCatalog(found.name)) {
        const bytes = readableOrNull(read);
        if (bytes !== null) yield* walk(bytesSource(bytes), inner, innerPlace.entries);
      } else if (CATALOG_ENTRY.test(found.name) || filter.isCatalogName(innerPlace.path)) {
        yield { ...innerPlace, read };
      }
    }
  };
  onFile({ path: destination, destination, entries: [] });
  yield* walk(file.source, null, []);
}

/** A file without other files in it, where it can be a catalog. */
function* plainPart(source: ByteSource, place: PartPlace, filter: PartFilter): Generator<CatalogPart> {
  const isCandidate = !NO_CATALOGS.has(formatOf(source, place.path)) || filter.isCatalogName(place.path);
  if (!isCandidate || source.size > MAX_CATALOG_BYTES) return;
  yield { ...place, read: () => source.read(0, source.size) };
}

export function pathOf(destination: string, entry: string | null): string {
  return entry === null ? destination : `${destination}!/${entry}`;
}

/**
 * The password of an entry.
 *
 * @param entry the path to the archive; `null` when it is the file of the release
 * @param name of the entry in it
 */
export function passwordOf(
  passwords: Passwords,
  destination: string,
  entry: string | null,
  name: string,
): Uint8Array | null {
  return passwords.ruleFor(destination, entry).password(nestedEntry(entry, name));
}
