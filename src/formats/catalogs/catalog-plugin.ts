import type { BundleDigests } from '../unity/bundle-digests.ts';
import { notRewritten, type PatchError } from '../patch/patch-error.ts';
import type { Meant } from './bundle-change.ts';
import { CHECKSUM_ALGORITHMS, type ChecksumAlgorithm, type FileFigures } from './file-figures.ts';

/**
 * A file of a release, or of an archive in it, that was patched. A file that only has the name of a patched one, so that a
 * catalog can mean either, has the same object as `before` and as `after`.
 */
export interface FileChange {
  /** The destination; a file inside of an archive follows the archive behind `!/`. */
  readonly path: string;
  readonly before: FileFigures;
  readonly after: FileFigures;
  /** The digests of its content, where the file is a bundle of Unity. */
  readonly bundle?: { readonly before: BundleDigests; readonly after: BundleDigests };
}

export interface RewrittenCatalog {
  readonly bytes: Uint8Array;
  /** The paths of the changed files that the catalog lists; each has its new figures. */
  readonly rewritten: ReadonlySet<string>;
  /**
   * Where the catalog was read whole, the file names of bundles for which it states something in a form that is not known. It
   * states nothing about other bundles than these and the rewritten ones.
   */
  readonly unread?: ReadonlySet<string>;
}

/**
 * The bundles that an address in a catalog can mean; `null` where it means no changed one. One that did not change has the same
 * object as `before` and as `after`.
 */
export type MeantBy = (address: string) => Meant<FileChange> | null;

/** Knows one kind of file that lists others with sizes and checksums. */
export interface CatalogPlugin {
  readonly name: string;
  /** Whether clients load bundles by what it states, so that it must never be left as it is. */
  readonly isOfBundles?: true;
  recognizes(path: string): boolean;
  /**
   * Writes the figures of changed files into a catalog. All other bytes stay.
   *
   * @param path the destination of the catalog, from which those of its files follow
   * @param meantBy for catalogs that name files by addresses, which can mean one of several files. Without it, an address
   *   means every change with its file name.
   * @throws PatchError `catalog_not_rewritten` when a stated value is not that of the official file by a known algorithm,
   *   or the catalog cannot be read; FormatError when a text file cannot be read
   */
  rewrite(
    path: string,
    bytes: Uint8Array,
    changes: readonly FileChange[],
    meantBy?: MeantBy,
  ): Promise<RewrittenCatalog>;
}

/**
 * The new value of a stated size. A catalog that states it already stays as it is.
 *
 * @throws PatchError `catalog_not_rewritten` when the catalog does not state the size of the official file
 */
export function newSize(change: FileChange, stated: bigint): bigint {
  const [before, after] = [BigInt(change.before.size), BigInt(change.after.size)];
  if (stated === before || stated === after) return after;
  throw unknownValue(change, `the size ${stated}`);
}

/**
 * The new value of a checksum that is stated as a number of 64 bits. 0 stays: it stands for none.
 *
 * @throws PatchError `catalog_not_rewritten` when no known algorithm gives the stated value for the official file
 */
export function newNumber(change: FileChange, stated: bigint): bigint {
  if (stated === 0n) return 0n;
  const numberOf = (figures: FileFigures, name: ChecksumAlgorithm): bigint =>
    BigInt(`0x${figures.checksums[name]}`);
  const algorithm = CHECKSUM_ALGORITHMS.find((name) => numberOf(change.before, name) === stated);
  if (CHECKSUM_ALGORITHMS.some((name) => numberOf(change.after, name) === stated)) return stated;
  if (algorithm === undefined) throw unknownValue(change, `the checksum ${stated}`);
  return numberOf(change.after, algorithm);
}

/**
 * The new value of a checksum that is stated as a text: hexadecimal digits in either case, or a decimal number. An empty
 * text stays: it stands for none.
 *
 * @throws PatchError `catalog_not_rewritten` when no known algorithm gives the stated value for the official file
 */
export function newText(change: FileChange, stated: string): string {
  if (stated === '') return '';
  const lower = stated.toLowerCase();
  const byDigits = CHECKSUM_ALGORITHMS.find((name) => change.before.checksums[name] === lower);
  if (byDigits !== undefined) {
    const value = change.after.checksums[byDigits];
    return stated === lower ? value : value.toUpperCase();
  }
  if (Object.values(change.after.checksums).includes(lower)) return stated;
  if (!/^[1-9]\d{0,19}$/.test(stated)) throw unknownValue(change, `the checksum ${JSON.stringify(stated)}`);
  return String(newNumber(change, BigInt(stated)));
}

function unknownValue({ path }: FileChange, stated: string): PatchError {
  const message = `the catalog states ${stated}, which no known algorithm gives for the official file`;
  return notRewritten(message, path);
}

/** The folder of the files that a media catalog lists. The catalog is in this folder, or in its subfolder `Catalog`. */
export function mediaFolderOf(folder: string): string {
  return folder.replace(/(^|\/)Catalog\/$/, '$1');
}
