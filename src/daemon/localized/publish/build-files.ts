import type { Publisher } from '../../releases/publish/publish.ts';
import { messageOf } from '../../../platform/errors.ts';
import { errorCode } from '../../../platform/files/error-code.ts';
import { PATCH_ERROR_CODES } from '../../formats/patch/patch-error.ts';
import { TaskError, type TaskContext } from '../../tasks/task.ts';
import type { CatalogRewriter } from '../catalogs/catalog-rewriter.ts';
import type { ContainerPatcher } from '../patch/container-patcher.ts';
import type { BaseRow } from './base-release.ts';
import type { BuildDependencies } from './build-containers.ts';
import type { LocalizedFailpoint } from './localized-failpoints.ts';
import {
  rewriteReleaseCatalogs,
  type PatchedFiles,
  type RewriteDependencies,
} from './rewrite-release-catalogs.ts';
import type { Replacements } from './stage-patches.ts';

/** The programs that build the files of a release, with the rules that apply now. */
export interface Builders {
  /** Opens the patcher; the caller closes it. */
  readonly openPatcher: () => ContainerPatcher;
  readonly rewriter: CatalogRewriter;
  /** Containers that are patched at the same time. */
  readonly concurrency: number;
}

export interface FileDependencies extends Omit<BuildDependencies & RewriteDependencies, keyof Builders> {
  readonly publisher: Publisher;
  /** @throws TaskError when the rules cannot be used */
  readonly openBuilders: () => Promise<Builders>;
}

/** The files of a release that differ from the official ones, all in the store. */
export interface BuiltFiles<Patched extends PatchedFiles> {
  readonly patched: Patched;
  /** The patched files, and the catalogs that list them. */
  readonly replaced: Replacements;
}

/**
 * Builds the files of a release that differ from the official ones: the patched ones, and then the catalogs that list them.
 *
 * @param patch puts the patched files into the store; its folder is on the volume
 * @throws TaskError `release_damaged` when official objects are missing, those of {@link rewriteReleaseCatalogs} and for rules that cannot be used; what `patch` throws
 */
export async function buildFiles<Patched extends PatchedFiles>(
  deps: FileDependencies,
  base: BaseRow,
  patch: (building: BuildDependencies, staging: string) => Promise<Patched>,
  context: TaskContext,
): Promise<BuiltFiles<Patched>> {
  const building = { ...deps, ...(await deps.openBuilders()) };
  const staging = await deps.writer.stagingDirectory(context.taskId);
  const { patched, replaced } = await orDamage(deps, base, context, async () => {
    const patched = await patch(building, staging);
    return { patched, replaced: await rewriteReleaseCatalogs(building, base, patched, staging, context) };
  });
  const reached: LocalizedFailpoint = 'localized.objects.committed';
  deps.failpoints.hit(reached);
  return { patched, replaced };
}

/**
 * Builds from the official objects. Where that fails because one of them is missing, or is a folder now, the damage is what the
 * task reports: neither a translation nor a catalog is to blame.
 *
 * @throws TaskError `release_damaged`; what `build` throws
 */
async function orDamage<T>(
  { publisher }: Pick<FileDependencies, 'publisher'>,
  base: BaseRow,
  context: TaskContext,
  build: () => Promise<T>,
): Promise<T> {
  try {
    return await build();
  } catch (error) {
    context.signal.throwIfAborted();
    if (mayComeOfDamage(error)) await requireSound(publisher, base, context);
    throw error;
  }
}

/** @throws TaskError `release_damaged` */
async function requireSound(
  publisher: FileDependencies['publisher'],
  base: BaseRow,
  context: TaskContext,
): Promise<void> {
  try {
    await publisher.requirePresent(base, context);
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof TaskError && error.code === 'release_damaged') throw error;
    // The error of the build says more than one of this look.
    context.log('warn', `nobody looked whether official files are missing: ${messageOf(error)}`);
  }
}

/** Errors of the system when a file is missing, or something else is in its place. */
const MISSING: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP']);
/** A text that cannot be written, a limit, and a process that ended: the official files are not the cause. */
const NO_DAMAGE: ReadonlySet<unknown> = new Set([
  ...Object.keys(PATCH_ERROR_CODES).filter((code) => code !== 'catalog_not_rewritten'),
  'deadline_exceeded',
  'memory_exceeded',
  'process_failed',
  'patch_selfcheck_failed',
]);

/** Whether damage of official files can be the cause. To look for it, all files of the release are looked at. */
function mayComeOfDamage(error: unknown): boolean {
  if (error instanceof TaskError) {
    return !NO_DAMAGE.has(error.code) && !NO_DAMAGE.has(error.details?.['code']);
  }
  const code = errorCode(error);
  return code === null || MISSING.has(code);
}
