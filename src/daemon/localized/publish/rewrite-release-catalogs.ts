import type { Destination } from '../../../domain/release/destination.ts';
import { objectPath } from '../../../snapshot/volume/layout.ts';
import type { CatalogStore } from '../../releases/catalog/catalog-store.ts';
import { manifestEntries } from '../../releases/catalog/release-entries.ts';
import type { KnownObject } from '../../releases/records/entry-row.ts';
import { TaskError, type TaskContext } from '../../tasks/task.ts';
import {
  CatalogError,
  type BaseRelease,
  type CatalogRewriter,
  type ChangedFile,
} from '../catalogs/catalog-rewriter.ts';
import type { BaseRow } from './base-release.ts';
import { hashFile, storeObject, type Replacements, type StageDependencies } from './stage-patches.ts';

export interface RewriteDependencies extends StageDependencies {
  /** Root of the snapshot volume. */
  readonly root: string;
  readonly catalogs: CatalogStore;
  readonly rewriter: CatalogRewriter;
}

/** The files whose catalogs are rewritten. */
export interface PatchedFiles {
  /** By destination. */
  readonly objects: ReadonlyMap<string, KnownObject>;
  /** Whether people have made them, so that the catalogs among them stay as they are. */
  readonly areGiven: boolean;
}

/**
 * Rewrites the catalogs of a release for its patched containers, and puts the new files into the store.
 *
 * @param patched the objects of the patched files
 * @param staging a folder on the volume
 * @returns all objects that stand for official ones
 * @throws TaskError with the code of the catalog error; the storage error
 */
export async function rewriteReleaseCatalogs(
  deps: RewriteDependencies,
  base: BaseRow,
  patched: PatchedFiles,
  staging: string,
  context: TaskContext,
): Promise<Replacements> {
  const objects = new Map<string, KnownObject>();
  const changed = Array.from(patched.objects, ([destination, object]): ChangedFile => {
    const path = objectPath(deps.root, object.blake3);
    objects.set(path, object);
    return { destination, path };
  });
  const files = await rewrite(deps, base, { changed, keepsChanged: patched.areGiven }, { staging, context });
  const replaced = new Map<Destination, KnownObject>();
  for (const { destination, path } of files) {
    const digests = objects.has(path) ? null : await hashFile(deps.pool, path, context.signal);
    const object = digests === null ? objects.get(path) : await storeObject(deps, path, digests, context);
    // Destinations come from the entries of the base.
    if (object !== undefined) replaced.set(destination as Destination, object);
    context.progress(replaced.size, files.length, 'entries', 'catalogs');
  }
  return replaced;
}

async function rewrite(
  deps: RewriteDependencies,
  base: BaseRow,
  { changed, keepsChanged }: { readonly changed: readonly ChangedFile[]; readonly keepsChanged: boolean },
  { staging, context: { signal } }: { readonly staging: string; readonly context: TaskContext },
): Promise<readonly ChangedFile[]> {
  const { root, rewriter, catalogs } = deps;
  const release: BaseRelease = {
    entries: () => manifestEntries(catalogs, base.revision_id),
    officialPath: (blake3) => objectPath(root, blake3),
  };
  try {
    return await rewriter.rewrite(changed, release, staging, signal, { keepsChanged });
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    const { code, path, message } = error;
    throw new TaskError(code, `${path === '' ? '' : `${path}: `}${message}; nothing was published`, {
      details: { path },
      retryable: code === 'process_failed',
      cause: error,
    });
  }
}
