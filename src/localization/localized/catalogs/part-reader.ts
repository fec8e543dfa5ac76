import { bytesSource, type ByteSource } from '../../../formats/byte-source.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { SNIFFED_BYTES, sniffFormat, type SniffedFormat } from '../../../formats/sniff.ts';
import { READ_LIMITS } from '../../../formats/value-visitor.ts';
import { openZip } from '../../../formats/zip/open-zip.ts';
import type { ZipEntry } from '../../../formats/zip/zip-directory.ts';
import { MAX_DEPTH, nestedEntry } from '../../parse/container/container-run.ts';
import type { RuleLookup } from '../../parse/rules/compile-rules.ts';
import { openReleaseFile, type PartPlace } from './release-files.ts';

interface CatalogPart extends PartPlace {
  readonly read: () => Buffer;
}

export type Passwords = RuleLookup;

export interface PartFilter {
  readonly passwords: Passwords;
  readonly isCatalogName: (path: string) => boolean;
  readonly isIgnored: (path: string) => boolean;
}

/** Largest catalog, and largest archive in an archive that is searched, in bytes. */
const MAX_CATALOG_BYTES = 128 * 1024 * 1024;

const CATALOG_FORMATS: ReadonlySet<SniffedFormat> = new Set(['json', 'csv', 'tsv', 'text', 'unknown']);
/** The names of catalogs in archives. To read the bytes of every entry would mean to decompress all of them. */
const CATALOG_ENTRY =
  /\.(?:json|csv|tsv|txt|xml|ya?ml|bytes|bin|dat|list|lst|hash|manifest|md5|sha\d+|crc\d*)$|(?:^|\/)[^./]+$/i;
const ARCHIVE_ENTRY = /\.zip$/i;

/**
 * Finds the files that can be catalogs: a file of a release, and those in archives. Files that cannot be read are left out: the game
 * cannot read them either.
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
    if (filter.isIgnored(place.path)) return;
    const format = formatOf(source, place.path);
    if (format !== 'zip') {
      const isCandidate = CATALOG_FORMATS.has(format) || filter.isCatalogName(place.path);
      if (isCandidate && source.size <= MAX_CATALOG_BYTES) {
        yield { ...place, read: () => source.read(0, source.size) };
      }
      return;
    }
    const archive = entries.length < MAX_DEPTH ? readableOrNull(() => openZip(source, READ_LIMITS)) : null;
    for (const found of archive?.entries ?? []) {
      if (archive === null || found.name.endsWith('/') || found.flaw !== null) continue;
      const inner = nestedEntry(entry, found.name);
      const innerPlace = {
        path: pathOf(destination, inner),
        destination,
        entries: [...entries, found.name],
      };
      onFile(innerPlace);
      const read = (): Buffer =>
        archive.readEntry(found, passwordOf(filter.passwords, destination, entry, found.name) ?? undefined);
      if (ARCHIVE_ENTRY.test(found.name)) {
        const bytes = found.uncompressedSize > MAX_CATALOG_BYTES ? null : readableOrNull(read);
        if (bytes !== null) yield* walk(bytesSource(bytes), inner, innerPlace.entries);
      } else if (isCandidateEntry(found, innerPlace.path, filter)) {
        yield { ...innerPlace, read };
      }
    }
  };
  onFile({ path: destination, destination, entries: [] });
  yield* walk(file.source, null, []);
}

function isCandidateEntry(entry: ZipEntry, path: string, filter: PartFilter): boolean {
  if (entry.uncompressedSize > MAX_CATALOG_BYTES) return false;
  return (CATALOG_ENTRY.test(entry.name) || filter.isCatalogName(path)) && !filter.isIgnored(path);
}

function formatOf(source: ByteSource, name: string): SniffedFormat {
  return sniffFormat(source.read(0, Math.min(SNIFFED_BYTES, source.size)), name);
}

export function isArchive(source: ByteSource): boolean {
  return formatOf(source, '') === 'zip';
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

/**
 * Reads a file of the release.
 *
 * @returns `null` when it is damaged or encrypted
 * @throws FormatError `file_unreadable` when the disk fails
 */
export function readableOrNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    // A disk that fails says nothing about the file.
    if (error instanceof FormatError && error.code !== 'file_unreadable') return null;
    throw error;
  }
}
