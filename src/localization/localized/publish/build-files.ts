import type { Destination } from '../../../domain/release/destination.ts';
import { messageOf } from '../../../platform/errors.ts';
import { errorCode } from '../../../platform/files/error-code.ts';
import { objectPath } from '../../../snapshot/volume/layout.ts';
import { manifestEntries } from '../../../releases/catalog/catalog-entries.ts';
import type { KnownObject } from '../../../releases/records/entry-row.ts';
import { PATCH_ERROR_CODES } from '../../../formats/patch/patch-error.ts';
import { TaskError, type TaskContext } from '../../../engine/tasks/task.ts';
import { CatalogError, type CatalogRewriter } from '../catalogs/catalog-rewriter.ts';
import type { PatchedReleaseFile } from '../catalogs/release-files.ts';
import { hit, type Builders, type LocalizedChannel } from '../channel.ts';
import { officialEntry, type BaseRow } from './base-release.ts';
import { pagesOf } from './localized-revision.ts';
import { hashFile, storeObject, type Replacements } from './stage-patches.ts';

export interface PatchedFiles {
  readonly objects: ReadonlyMap<string, KnownObject>;
  /** Whether people have made them, so that the catalogs among them stay as they are. */
  readonly areGiven: boolean;
}

/** Opens what builds files, and closes it after its use. @throws TaskError `rules_invalid` */
export async function withBuilders<T>(
  channel: LocalizedChannel,
  use: (builders: Builders) => Promise<T>,
): Promise<T> {
  const builders = await channel.openBuilders();
  try {
    return await use(builders);
  } finally {
    builders.patcher.close();
    builders.rewriter.close();
  }
}

/**
 * Builds the files of a release that differ from the official ones: the patched ones, and then the catalogs that list them.
 *
 * @param patch puts the patched files into the store; its folder is on the volume
 * @returns what `patch` returned, and all files that replace official ones, in the store
 * @throws TaskError `release_damaged` when official objects are missing, those of {@link rewriteReleaseCatalogs}; what `patch` throws
 */
export async function buildFiles<Patched extends PatchedFiles>(
  channel: LocalizedChannel,
  { base, rewriter }: { readonly base: BaseRow; readonly rewriter: CatalogRewriter },
  patch: (staging: string) => Promise<Patched>,
  context: TaskContext,
): Promise<{ readonly patched: Patched; readonly replaced: Replacements }> {
  const staging = await channel.writer.stagingDirectory(context.taskId);
  try {
    const patched = await patch(staging);
    const replaced = await rewriteReleaseCatalogs({ channel, rewriter, base, staging }, patched, context);
    hit(channel, 'localized.objects.committed');
    return { patched, replaced };
  } catch (error) {
    context.signal.throwIfAborted();
    // Where official files are missing, neither a translation nor a catalog is to blame.
    if (mayComeOfDamage(error)) await requireSound(channel, base, context);
    throw error;
  }
}

async function requireSound(
  { publisher }: LocalizedChannel,
  base: BaseRow,
  context: TaskContext,
): Promise<void> {
  try {
    await publisher.requirePresent(base, context);
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof TaskError && error.code === 'release_damaged') throw error;
    // The error of the build says more than one of this check.
    context.log('warn', `it was not checked whether official files are missing: ${messageOf(error)}`);
  }
}

const MISSING: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP']);
/** A text that cannot be written, a limit, and a process that ended: the official files are not the cause. */
const NO_DAMAGE: ReadonlySet<unknown> = new Set([
  ...Object.keys(PATCH_ERROR_CODES).filter((code) => code !== 'catalog_not_rewritten'),
  'deadline_exceeded',
  'memory_exceeded',
  'process_failed',
  'patch_selfcheck_failed',
]);

/** Whether damage of official files can be the cause. To find it, all files of the release are checked. */
function mayComeOfDamage(error: unknown): boolean {
  if (error instanceof TaskError) {
    return !NO_DAMAGE.has(error.code) && !NO_DAMAGE.has(error.details?.['code']);
  }
  const code = errorCode(error);
  return code === null || MISSING.has(code);
}

/**
 * Rewrites the catalogs of a release for its patched files, and puts the new files into the store.
 *
 * @param to the folder `staging` is on the volume
 * @returns all objects that replace official ones
 * @throws TaskError with the code of the catalog error, `unknown_destination`; the storage error
 */
export async function rewriteReleaseCatalogs(
  to: {
    readonly channel: LocalizedChannel;
    readonly rewriter: CatalogRewriter;
    readonly base: BaseRow;
    readonly staging: string;
  },
  { objects: patched, areGiven }: PatchedFiles,
  context: TaskContext,
): Promise<Replacements> {
  const { channel, rewriter, base, staging } = to;
  const known = new Map<string, KnownObject>();
  const changed: PatchedReleaseFile[] = [];
  for await (const page of pagesOf(patched, context)) {
    for (const [destination, object] of page) {
      const path = objectPath(channel.root, object.blake3);
      known.set(path, object);
      const { blake3: official } = officialEntry(channel.catalogs, base, destination);
      if (official === null) throw new Error(`the official object of ${destination} is not known`);
      changed.push({ destination, official: objectPath(channel.root, official), patched: path });
    }
  }
  const release = {
    // The digest of its manifest.
    id: base.snapshot_id ?? `revision ${base.revision_id}`,
    entries: () => manifestEntries(channel.catalogs, base.revision_id),
    officialPath: (blake3: KnownObject['blake3']) => objectPath(channel.root, blake3),
  };
  const files = await rewriter
    .rewrite(changed, release, staging, context.signal, { keepsChanged: areGiven })
    .catch((error: unknown) => {
      throw error instanceof CatalogError ? catalogTaskError(error) : error;
    });
  const replaced = new Map<Destination, KnownObject>();
  for (const { destination, path } of files) {
    const object =
      known.get(path) ??
      (await storeObject(channel, path, await hashFile(channel.pool, path, context.signal), context));
    // Destinations come from the entries of the base.
    replaced.set(destination as Destination, object);
    context.progress(replaced.size, files.length, 'entries', 'catalogs');
  }
  return replaced;
}

function catalogTaskError(error: CatalogError): TaskError {
  const { code, path, message } = error;
  return new TaskError(code, `${path === '' ? '' : `${path}: `}${message}; nothing was published`, {
    details: { path },
    retryable: code === 'process_failed',
    cause: error,
  });
}
