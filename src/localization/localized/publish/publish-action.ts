import { ServiceError } from '../../../contract/problems/service-error.ts';
import type { BodyOf } from '../../../contract/actions/body-of.ts';
import { defineAction, type DefinedAction } from '../../../engine/define-action.ts';
import { requireExchangedFile } from '../../../engine/exchange/import-file.ts';
import { callOf } from '../../../engine/tasks/job.ts';
import { TaskError } from '../../../engine/tasks/task.ts';
import type { LocalizedChannel } from '../channel.ts';
import { requireBase, requireSameBase } from './base-release.ts';
import { readPatchManifest, type PatchManifest } from './patch-manifest.ts';
import { LOCALIZED_PUBLISH_JOB, TEXT_ARGUMENTS, type PublishArguments } from './publish-job.ts';

/** The control action `localized-publish`: checks its request as far as possible now and queues the job. */
export function createPublishAction(channel: LocalizedChannel): DefinedAction {
  return defineAction(channel.engine, 'localized-publish', {
    job: (body) => {
      const { localized_release_id: wantedId, force, args = {} } = body;
      return callOf(LOCALIZED_PUBLISH_JOB, {
        ...inputOf(body),
        localized_release_id: wantedId,
        force,
        ...args,
      });
    },
    admit: (body) => requireUsable(channel, body),
  });
}

type Body = BodyOf<'localized-publish'>;

function inputOf({
  patch_manifest: path,
  translation_file: file,
  args = {},
}: Body): Partial<PublishArguments> {
  if (path === undefined) return file === undefined ? { from_worker: true } : { translation_file: file };
  const used = TEXT_ARGUMENTS.find((each) => args[each] !== undefined);
  if (used === undefined) return { patch_manifest: path };
  throw new ServiceError('invalid_request', `${used} selects texts, and a patch manifest names files`, {
    errors: [{ pointer: '/args', message: `${used} is not used with patch_manifest` }],
  });
}

/**
 * Checks the base, the wanted name and the files of the input, as far as possible now.
 *
 * @throws ServiceError `invalid_request`, `invalid_path`, `file_not_found`; TaskError `no_official_release`, `base_mismatch`, and
 *   `release_exists` when the name belongs to another channel or base
 */
async function requireUsable(
  { releases, patchRoot, exchangeRoot }: LocalizedChannel,
  { localized_release_id: wanted, patch_manifest: path, translation_file: file }: Body,
): Promise<void> {
  const base = requireBase(releases);
  const holder = wanted === undefined ? null : releases.named(wanted);
  if (holder !== null && (holder.channel !== 'localized' || holder.base_release_id !== base.release_id)) {
    throw new TaskError(
      'release_exists',
      `the release id ${wanted} is used by another release; choose another one`,
    );
  }
  if (path !== undefined) requireSameBase(base, (await manifestOf(patchRoot(), path)).baseReleaseId);
  else if (file !== undefined) await requireExchangedFile(exchangeRoot(), file);
}

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
