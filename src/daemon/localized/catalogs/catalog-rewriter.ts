import type { Blake3Hex } from '../../../domain/release/digest.ts';

/** A file of the localized release whose bytes differ from the official ones. */
export interface ChangedFile {
  readonly destination: string;
  readonly official: { readonly size: number; readonly blake3: Blake3Hex };
  /** The new file. */
  readonly path: string;
  /** Bytes of the new file. */
  readonly size: number;
}

/** The official release that a localized release is built on. */
export interface BaseRelease {
  /** Its entries, sorted by destination. */
  entries(): Iterable<{ readonly destination: string; readonly size: number; readonly blake3: Blake3Hex }>;
  /** Where the object with this digest lies. */
  officialPath(blake3: Blake3Hex): string;
}

/** Rewrites the catalogs of a release for its changed files. */
export interface CatalogRewriter {
  /**
   * @param changed the patched files
   * @param workDirectory where new files are written; the caller removes it
   * @returns all changed files: the given ones, the catalogs that list them, and the sidecars of those
   * @throws PatchError `catalog_not_rewritten`
   */
  rewrite(
    changed: readonly ChangedFile[],
    release: BaseRelease,
    workDirectory: string,
    signal: AbortSignal,
  ): Promise<readonly ChangedFile[]>;
}
