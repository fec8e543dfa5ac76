import { PatchError } from '../patch/patch-error.ts';

/** The figures of a bundle that catalogs state. */
export interface BundleFigures {
  /** Bytes of the file. */
  readonly size: number;
  /** CRC-32 of its decompressed data; `null` where it is not known. */
  readonly crc32: number | null;
}

/** A bundle that was patched. */
export interface BundleChange {
  /** The name of its file, without folders. */
  readonly fileName: string;
  readonly before: BundleFigures;
  /** The hash is 16 bytes over the new content. */
  readonly after: BundleFigures & { readonly contentHash: Uint8Array };
}

/** The values of a bundle in a catalog. */
export interface CatalogFigures {
  /** 32 hexadecimal digits; empty where clients do not cache the bundle. */
  readonly hash: string;
  /** 0 where clients do not check it. */
  readonly crc: number;
  /** 0 where it is not known. */
  readonly size: number;
}

/** A catalog with new figures of bundles. */
export interface PatchedCatalog {
  readonly bytes: Uint8Array;
  /** The file names of the bundles that the catalog lists; each has its new figures. */
  readonly listed: ReadonlySet<string>;
}

/**
 * The new values of a bundle in a catalog. A value that the catalog leaves empty stays empty. The hash is made from the new
 * content: clients cache a bundle by its name and hash, so the old hash would give them the old bundle.
 *
 * @param old the values of the catalog
 * @throws PatchError `catalog_not_rewritten` when the catalog states other figures than those of the official bundle, so that its
 *   values mean something that is not known
 */
export function changedFigures(
  old: CatalogFigures,
  { fileName, before, after }: BundleChange,
): CatalogFigures {
  if (old.size !== 0 && old.size !== before.size) {
    throw unknownFigure(fileName, `the size ${old.size}`, before.size);
  }
  if (old.crc !== 0 && old.crc !== before.crc32) {
    throw unknownFigure(fileName, `the CRC ${old.crc}`, before.crc32);
  }
  if (old.crc !== 0 && after.crc32 === null) throw unknownFigure(fileName, `the CRC ${old.crc}`, null);
  return {
    hash: isEmptyHash(old.hash) ? old.hash : Buffer.from(after.contentHash).toString('hex'),
    crc: old.crc === 0 ? 0 : (after.crc32 ?? 0),
    size: old.size === 0 ? 0 : after.size,
  };
}

/**
 * Finds the change of the bundle that a path or an address in a catalog names by its last part.
 *
 * @throws PatchError `catalog_not_rewritten` when two bundles have one file name, so that it is not known which one is meant
 */
export function changeFinder(
  changes: readonly BundleChange[],
): (address: string) => BundleChange | undefined {
  const byName = new Map(changes.map((change) => [change.fileName, change]));
  if (byName.size < changes.length) {
    const message = 'two patched bundles have one file name; rewrite their catalogs one by one';
    throw new PatchError('catalog_not_rewritten', '', message);
  }
  return (address) => byName.get(/([^/\\]*)$/.exec(address.replace(/[?#].*$/s, ''))?.[1] ?? '');
}

function isEmptyHash(hash: string): boolean {
  return /^0*$/.test(hash);
}

function unknownFigure(fileName: string, stated: string, found: number | null): PatchError {
  return new PatchError(
    'catalog_not_rewritten',
    '',
    `the catalog states ${stated} for ${JSON.stringify(fileName)}, and the official bundle has ${found ?? 'none that is known'}`,
  );
}
