import { ServiceError } from '../../../contract/problems/service-error.ts';
import type { ReleaseId } from '../../../domain/release/release-id.ts';
import type { BodyOf } from '../../../contract/actions/body-of.ts';
import { defineAction, type DefinedAction } from '../../api/define-action.ts';
import type { ReleaseRepository } from '../../releases/records/release-repository.ts';
import type { ReleaseRow } from '../../releases/records/release-row.ts';
import { callOf } from '../../tasks/job.ts';
import { TaskError } from '../../tasks/task.ts';
import type { TaskEngine } from '../../tasks/task-engine.ts';
import { requireBase, requireSameBase } from './base-release.ts';
import { readPatchManifest, type PatchManifest } from './patch-manifest.ts';
import { LOCALIZED_PUBLISH_JOB, TEXT_ARGUMENTS, type PublishArguments } from './publish-job.ts';
import type { PublishDependencies } from './publish-task.ts';
import { requireExchangedFile } from '../../exchange/require-exchanged-file.ts';

export interface PublishActionOptions extends Pick<PublishDependencies, 'releases' | 'patchRoot'> {
  readonly engine: TaskEngine;
  /** The folder of exchanged files. */
  readonly exchangeRoot: () => string;
}

/** The control action `localized-publish`: checks its request as far as possible now and queues the job. */
export function createPublishAction(options: PublishActionOptions): DefinedAction {
  const { engine, releases } = options;
  return defineAction(engine, 'localized-publish', {
    queue: async (body) => {
      const { localized_release_id: wantedId, force, args = {} } = body;
      const base = requireBase(releases);
      if (wantedId !== undefined) requireOwnName(releases, base, wantedId);
      const input = await inputOf(options, base, body);
      return callOf(LOCALIZED_PUBLISH_JOB, { ...input, localized_release_id: wantedId, force, ...args });
    },
  });
}

type Body = BodyOf<'localized-publish'>;

/**
 * The input of a publish, as far as it can be checked now.
 *
 * @throws ServiceError `invalid_request`, `invalid_path`, `file_not_found`; TaskError `base_mismatch`
 */
async function inputOf(
  { patchRoot, exchangeRoot }: PublishActionOptions,
  base: ReleaseRow,
  { patch_manifest: path, translation_file: file, args = {} }: Body,
): Promise<Pick<PublishArguments, 'from_worker' | 'translation_file' | 'patch_manifest'>> {
  if (path !== undefined) {
    refuseTextArguments(args);
    requireSameBase(base, (await manifestOf(patchRoot(), path)).baseReleaseId);
    return { patch_manifest: path };
  }
  if (file === undefined) return { from_worker: true };
  await requireExchangedFile(exchangeRoot(), file);
  return { translation_file: file };
}

/** @throws ServiceError `invalid_request` */
function refuseTextArguments(args: NonNullable<Body['args']>): void {
  const used = TEXT_ARGUMENTS.find((each) => args[each] !== undefined);
  if (used === undefined) return;
  throw new ServiceError('invalid_request', `${used} selects texts, and a patch manifest names files`, {
    errors: [{ pointer: '/args', message: `${used} is not used with patch_manifest` }],
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
