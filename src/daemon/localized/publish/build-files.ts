import type { TaskContext } from '../../tasks/task.ts';
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
 * @throws TaskError of {@link rewriteReleaseCatalogs} and for rules that cannot be used; what `patch` throws
 */
export async function buildFiles<Patched extends PatchedFiles>(
  deps: FileDependencies,
  base: BaseRow,
  patch: (building: BuildDependencies, staging: string) => Promise<Patched>,
  context: TaskContext,
): Promise<BuiltFiles<Patched>> {
  const building = { ...deps, ...(await deps.openBuilders()) };
  const staging = await deps.writer.stagingDirectory(context.taskId);
  const patched = await patch(building, staging);
  const replaced = await rewriteReleaseCatalogs(building, base, patched, staging, context);
  const reached: LocalizedFailpoint = 'localized.objects.committed';
  deps.failpoints.hit(reached);
  return { patched, replaced };
}
