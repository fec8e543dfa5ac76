import type { ByteSource } from '../../../formats/byte-source.ts';
import { isBundledCatalog } from '../../../formats/catalogs/bundle-plugins.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { compressLike, decompress, type Compression } from '../../../formats/gzip/compressed-file.ts';
import { newPiece, type OutputPiece } from '../../../formats/patch/output-pieces.ts';
import { SNIFFED_BYTES, sniffFormat, type SniffedFormat } from '../../../formats/sniff.ts';
import { openTextAssets } from '../../../formats/unity/bundle-text-assets.ts';
import { READ_LIMITS } from '../../../formats/value-visitor.ts';
import { openZip } from '../../../formats/zip/open-zip.ts';
import { endsAsZip } from '../../../formats/zip/zip-directory.ts';
import { patchZip, type PatchEntry } from '../../../formats/zip/patch-zip.ts';
import { COMPRESSED_ENTRY } from '../../parse/container/container-run.ts';
import { baseName } from './release-files.ts';
import { blake3Hex } from '../../../platform/hashing/blake3.ts';

interface ContainerEntry {
  readonly name: string;
  /** Bytes of its content, or a few more. */
  readonly size: number;
  /** @throws FormatError when it cannot be read */
  readonly read: (password?: Uint8Array) => Buffer;
  /** Differs where the content does. */
  readonly fingerprint: () => string;
}

/** A file with catalogs in it: a zip archive, a compressed file, or a bundle of Unity with a compressed catalog of Addressables. */
interface CatalogContainer {
  readonly entries: readonly ContainerEntry[];
  /** @throws FormatError, PatchError when it cannot be written with other contents of some entries */
  readonly write: (
    patches: ReadonlyMap<string, PatchEntry>,
    passwordOf: (name: string) => Uint8Array | null,
  ) => Iterable<OutputPiece>;
}

/**
 * Opens a file with other files in it.
 *
 * @param path decides whether a bundle of Unity is opened: to look into all of them would mean to decompress the release
 * @returns `null` for another file, and for a bundle or a compressed file that cannot be read
 * @throws FormatError when it is an archive that cannot be read
 */
export function openContainer(source: ByteSource, path: string): CatalogContainer | null {
  const kind = containerKind(source, path);
  if (kind === 'zip') return zipContainer(source);
  if (kind === 'bundle') return readableOrNull(() => bundleContainer(source));
  return kind === null ? null : readableOrNull(() => compressedContainer(source, path, kind));
}

/** The kind of a file with other files in it, by its bytes; `null` for another file. */
export function containerKind(source: ByteSource, path: string): 'zip' | 'bundle' | Compression | null {
  const format = formatOf(source, path);
  if (format === 'unity' && isBundledCatalog(path)) return 'bundle';
  return format === 'zip' || format === 'gzip' || format === 'zlib' ? format : null;
}

/** The format of a file. An archive can have other bytes before it, as a program that unpacks itself does. */
export function formatOf(source: ByteSource, name: string): SniffedFormat {
  const format = sniffFormat(source.read(0, Math.min(SNIFFED_BYTES, source.size)), name);
  return (format === 'unknown' || format === 'binary') && endsAsZip(source) ? 'zip' : format;
}

function zipContainer(source: ByteSource): CatalogContainer {
  const archive = openZip(source, READ_LIMITS);
  const entries = archive.entries.filter(({ name, flaw }) => !name.endsWith('/') && flaw === null);
  return {
    entries: entries.map((entry) => ({
      name: entry.name,
      size: entry.uncompressedSize,
      read: (password) => archive.readEntry(entry, password),
      fingerprint: () => `${entry.crc32} ${entry.uncompressedSize}`,
    })),
    write: (patches, passwordOf) => patchZip(source, patches, { passwordOf }),
  };
}

/** Largest file in a compressed file that is searched, in bytes. */
const MAX_CONTENT_BYTES = 128 * 1024 * 1024;

/** Its file has the name of the compressed file without `.gz`; one without such an ending has a name that no catalog states. */
function compressedContainer(source: ByteSource, path: string, kind: Compression): CatalogContainer {
  if (source.size > MAX_CONTENT_BYTES)
    throw new FormatError('container_limit_exceeded', 'the file is too large');
  const official = source.read(0, source.size);
  const limits = { ...READ_LIMITS, entryBytes: MAX_CONTENT_BYTES };
  const content = decompress(official, kind, limits);
  const name = /([^/]+)\.(?:gz|zz|zlib)$/i.exec(baseName(path))?.[1] ?? COMPRESSED_ENTRY;
  return {
    entries: [{ name, size: content.length, read: () => content, fingerprint: () => blake3Hex(content) }],
    write: (patches) => {
      const patch = patches.get(name);
      return [
        newPiece(patch === undefined ? official : compressLike(official, kind, patch(content), limits)),
      ];
    },
  };
}

function bundleContainer(source: ByteSource): CatalogContainer {
  const { assets, write } = openTextAssets(source, READ_LIMITS);
  // Any asset can be the catalog, so nobody knows what a bundle states of which one cannot be read.
  for (const { read } of assets) read();
  return {
    entries: assets.map(({ name, size, read }) => ({
      name,
      size,
      read,
      fingerprint: () => blake3Hex(read()),
    })),
    write: (patches) => {
      const changed = assets.flatMap(({ name, read }) => {
        const patch = patches.get(name);
        return patch === undefined ? [] : [[name, patch(read())] as const];
      });
      return write(new Map(changed));
    },
  };
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
