import { ServiceError } from '../../../contract/problems/service-error.ts';
import type { ReleaseId } from '../../../domain/release/release-id.ts';
import { defineAction, type DefinedAction } from '../../api/define-action.ts';
import type { ReleaseRepository } from '../../releases/records/release-repository.ts';
import type { ReleaseRow } from '../../releases/records/release-row.ts';
import { callOf } from '../../tasks/job.ts';
import { TaskError } from '../../tasks/task.ts';
import type { TaskEngine } from '../../tasks/task-engine.ts';
import { requireBase, requireSameBase } from './base-release.ts';
import { readPatchManifest, type PatchManifest } from './patch-manifest.ts';
import { LOCALIZED_PUBLISH_JOB } from './publish-job.ts';
import type { PublishDependencies } from './publish-task.ts';

export interface PublishActionOptions extends Pick<PublishDependencies, 'releases' | 'patchRoot'> {
  readonly engine: TaskEngine;
}

/** The control action `localized-publish`: checks its request as far as possible now and queues the job. */
export function createPublishAction(options: PublishActionOptions): DefinedAction {
  const { engine, releases } = options;
  return defineAction(engine, 'localized-publish', {
    queue: async ({ patch_manifest: path, localized_release_id: wantedId, force, args = {} }) => {
      const base = requireBase(releases);
      if (wantedId !== undefined) requireOwnName(releases, base, wantedId);
      if (path === undefined) {
        throw new ServiceError('not_implemented', 'this daemon publishes only a patch_manifest');
      }
      requireSameBase(base, (await manifestOf(options.patchRoot(), path)).baseReleaseId);
      return callOf(LOCALIZED_PUBLISH_JOB, {
        patch_manifest: path,
        localized_release_id: wantedId,
        force,
        ...args,
      });
    },
  });
}

/** @throws TaskError `release_exists` when the name belongs to another channel or base */
function requireOwnName(
  releases: Pick<ReleaseRepository, 'named'>,
  base: ReleaseRow,
  wanted: ReleaseId,
): void {
  const holder = releases.named(wanted);
  if (holder === null) return;
  if (holder.channel === 'localized' && holder.base_release_id === base.release_id) return;
  throw new TaskError(
    'release_exists',
    `the release id ${wanted} is used by another release; choose another one`,
  );
}

/** @throws ServiceError `invalid_request`, `invalid_path`, `file_not_found` */
async function manifestOf(root: string, path: string): Promise<PatchManifest> {
  try {
    return await readPatchManifest(root, path);
  } catch (error) {
    if (!(error instanceof TaskError) || error.code !== 'patch_manifest_invalid') throw error;
    throw new ServiceError('invalid_request', error.message, {
      errors: [{ pointer: '/patch_manifest', message: error.message }],
      cause: error,
    });
  }
}
