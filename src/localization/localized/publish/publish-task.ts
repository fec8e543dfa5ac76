import type { Destination } from '../../../domain/release/destination.ts';
import { ServiceError } from '../../../contract/problems/service-error.ts';
import { releaseTaskError } from '../../../releases/jobs/task-errors.ts';
import type { KnownObject } from '../../../releases/records/entry-row.ts';
import { callOf, implementJob, type Job } from '../../../engine/tasks/job.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../../engine/tasks/task.ts';
import type { LocalizedChannel } from '../channel.ts';
import { finishRollbacks, requireNotWithdrawn, withdrawalBlockers } from '../rollback/rollback-effect.ts';
import { officialEntry, requireBase, requireSameBase, type BaseRow } from './base-release.ts';
import { buildFiles, withBuilders, type PatchedFiles } from './build-files.ts';
import { readPatchManifest, type PatchedFile, type PatchManifest } from './patch-manifest.ts';
import { LOCALIZED_PUBLISH_JOB, type PublishArguments, TEXT_ARGUMENTS } from './publish-job.ts';
import { filesOf, markTasks, publishTexts, type AutomaticPublish } from './publish-texts.ts';
import { FILES_MAX, publishContent, publishedFields } from './publish-content.ts';
import { checkPatches, stagePatches, type Replacements } from './stage-patches.ts';
import type { BodyOf } from '../../../contract/actions/body-of.ts';
import { defineAction, type DefinedAction } from '../../../engine/define-action.ts';
import { requireExchangedFile } from '../../../engine/exchange/import-file.ts';

/**
 * The task `localized-publish`: takes the inputs, builds the files that differ from the official ones, stores them, and
 * publishes a release of the official entries with these replaced.
 */
export function publishJob(channel: LocalizedChannel): Job {
  return implementJob(LOCALIZED_PUBLISH_JOB, async (context) => {
    const { patch_manifest: path, dry_run: isDryRun } = context.args;
    return await guarded(channel, context, async () => {
      if (!isDryRun) requireNotWithdrawn(channel, context.args);
      if (path === undefined) return await publishTexts(channel, context);
      return await publishPatches(channel, path, context);
    });
  });
}

/** Publishes from the stored translations, as no person asked for. */
export async function publishAutomatically(
  channel: LocalizedChannel,
  context: TaskContext,
  automatic: AutomaticPublish,
): Promise<TaskResult> {
  const { args } = callOf(LOCALIZED_PUBLISH_JOB, { from_worker: true });
  return await guarded(channel, context, async () => {
    requireNotWithdrawn(channel, args);
    return await publishTexts(channel, { ...context, args }, automatic);
  });
}

/** Runs a publish after the rollbacks before it have ended. */
async function guarded(
  channel: LocalizedChannel,
  { taskId }: TaskContext,
  run: () => Promise<TaskResult>,
): Promise<TaskResult> {
  try {
    await finishRollbacks(channel);
    return await run();
  } catch (error) {
    throw awaitedTexts(channel, error) ?? publishTaskError(error);
  } finally {
    await channel.writer.removeStaging(taskId);
  }
}

async function publishPatches(
  channel: LocalizedChannel,
  path: string,
  context: TaskContext<PublishArguments>,
): Promise<TaskResult> {
  const { dry_run: isDryRun, localized_release_id: wantedId = null, resume: resumes = false } = context.args;
  const { baseReleaseId, entries } = await readPatchManifest(channel.patchRoot(), path);
  const base = requireBase(channel.releases);
  requireSameBase(base, baseReleaseId);
  for (const { destination } of entries) officialEntry(channel.catalogs, base, destination);
  if (isDryRun) {
    await checkPatches(channel.pool, channel.patchRoot(), entries, context);
    return { dry_run: true, ...resultOf(base, entries), blockers: withdrawalBlockers(channel, context.args) };
  }
  const building = withBuilders(channel, async ({ rewriter }) => {
    const patch = async (staging: string): Promise<PatchedFiles> =>
      givenFiles(channel, base, await stagePatches(channel, entries, staging, context));
    return (await buildFiles(channel, { base, rewriter }, patch, context)).replaced;
  });
  const published = await publishContent(channel, { base, building, wantedId, resumes }, context);
  // Nobody knows the texts of these files, so no task counts as published.
  await markTasks(channel, null, context);
  return { ...publishedFields(published), ...resultOf(base, entries), ...filesOf(await building) };
}

/** The given files whose bytes are not the official ones. Catalogs that a person has changed for them stay as they are. */
function givenFiles(channel: LocalizedChannel, base: BaseRow, given: Replacements): PatchedFiles {
  const objects = new Map<Destination, KnownObject>();
  for (const [destination, object] of given) {
    const { blake3: official } = officialEntry(channel.catalogs, base, destination);
    const isKnown = official !== null && channel.objects.get(official) !== null;
    if (isKnown && official !== object.blake3) objects.set(destination, object);
  }
  return { objects, areGiven: true };
}

function resultOf(base: BaseRow, entries: readonly PatchedFile[]): TaskResult {
  return {
    base_release_id: base.release_id,
    patched_entries: entries.length,
    patched_bytes: entries.reduce((sum, { size }) => sum + size, 0),
    files: entries.slice(0, FILES_MAX).map(({ destination, size }) => ({ destination, size })),
  };
}

const NOT_PREPARED: ReadonlySet<string> = new Set(['text_not_indexed', 'tasks_not_built']);

/** The error of a publish that waits for texts. A large release is parsed for longer than the attempts of a task last. */
function awaitedTexts({ isPreparing }: LocalizedChannel, error: unknown): TaskError | null {
  if (!(error instanceof TaskError) || !NOT_PREPARED.has(error.code) || !isPreparing()) return null;
  return new TaskError(error.code, error.message, { retryable: true, waits: true, cause: error });
}

function publishTaskError(error: unknown): unknown {
  if (error instanceof ServiceError) return new TaskError(error.code, error.message, { cause: error });
  return releaseTaskError(error);
}

/** The control action `localized-publish`: checks its request as far as possible now and queues the job. */
export function publishAction(channel: LocalizedChannel): DefinedAction {
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
