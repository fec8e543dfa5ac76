import { join } from 'node:path';
import { coverageOf, type PublishCounts } from '../../../domain/translation/publish-outcome.ts';
import { messageOf } from '../../../platform/errors.ts';
import type { TaskContext, TaskResult } from '../../../engine/tasks/task.ts';
import { hit, type Builders, type LocalizedChannel } from '../channel.ts';
import {
  blockersOf,
  requirePublishable,
  type FrozenRelease,
  type PublishPolicy,
} from '../freeze/frozen-release.ts';
import { withdrawalBlockers } from '../rollback/rollback-effect.ts';
import { requireBase, type BaseRow } from './base-release.ts';
import { buildContainers, type BuiltContainers } from './build-containers.ts';
import { buildFiles, withBuilders, type PatchedFiles } from './build-files.ts';
import { FILES_MAX, publishContent, publishedFields } from './publish-content.ts';
import type { PublishArguments } from './publish-job.ts';
import type { Replacements } from './stage-patches.ts';
import { mkdir, rm } from '../../../platform/files/file-changes.ts';

export const WORK_FOLDER = 'localized';

export interface AutomaticPublish {
  /** The localized release with whose texts the new ones are compared; `null`: there is none. */
  readonly previousReleaseId: string | null;
  /** @throws TaskError when the texts must not be published automatically */
  readonly require: (frozen: FrozenRelease) => void;
}

/**
 * Publishes a release from stored translations, or from those of a file.
 *
 * @param automatic absent when someone asked for the publish
 */
export async function publishTexts(
  channel: LocalizedChannel,
  context: TaskContext<PublishArguments>,
  automatic?: AutomaticPublish,
): Promise<TaskResult> {
  const { args } = context;
  const base = requireBase(channel.releases);
  const policy = policyOf(channel.policy(), args);
  // The lane runs one publish at a time, so all that is there is of earlier ones.
  const workDirectory = join(channel.dataDirectory, WORK_FOLDER);
  await rm(workDirectory, { recursive: true, force: true });
  await mkdir(workDirectory, { recursive: true, mode: 0o700 });
  const freeze = async (): Promise<FrozenRelease> => {
    const frozen = await channel.freezer.freeze(
      {
        baseReleaseId: base.release_id,
        translationFile: args.translation_file ?? null,
        policy,
        previousReleaseId: automatic?.previousReleaseId ?? null,
        workDirectory,
      },
      context,
    );
    hit(channel, 'localized.texts.frozen');
    return frozen;
  };
  try {
    if (args.dry_run) {
      const frozen = await freeze();
      const blockers = [...withdrawalBlockers(channel, args), ...blockersOf(frozen, policy)];
      return {
        ...dryRunOf(base, frozen, blockers),
        unchanged: await isCurrentContent(channel, frozen, context),
        ...(await changesOf(channel, frozen, context)),
      };
    }
    return await withBuilders(channel, async (builders) => {
      // Its process starts while the texts are frozen, which other threads do.
      builders.patcher.prepare();
      const frozen = await freeze();
      requirePublishable(frozen, policy, args.force);
      automatic?.require(frozen);
      return await publishFrozen(channel, builders, { base, frozen }, context);
    });
  } finally {
    await rm(workDirectory, { recursive: true, force: true });
  }
}

async function isCurrentContent(
  { releases, freezer }: LocalizedChannel,
  frozen: FrozenRelease,
  { args, signal }: TaskContext<PublishArguments>,
): Promise<boolean> {
  const current = releases.current('localized');
  if (current?.state !== 'current') return false;
  const { release_id: releaseId } = current;
  if ((args.localized_release_id ?? releaseId) !== releaseId) return false;
  return await freezer.isRecordedAs(frozen, releaseId, signal);
}

/** The lines that readers of the current localized release would see change. */
async function changesOf(
  { releases, freezer }: LocalizedChannel,
  frozen: FrozenRelease,
  { signal }: TaskContext<PublishArguments>,
): Promise<TaskResult> {
  const releaseId = releases.current('localized')?.release_id ?? null;
  const changed = releaseId === null ? null : await freezer.changesFrom(frozen, releaseId, signal);
  return {
    compared_with: releaseId,
    changed_units: changed?.units ?? null,
    changes: changed?.changes ?? [],
    changed_files: changed?.files ?? [],
  };
}

async function publishFrozen(
  channel: LocalizedChannel,
  builders: Builders,
  { base, frozen }: { readonly base: BaseRow; readonly frozen: FrozenRelease },
  context: TaskContext<PublishArguments>,
): Promise<TaskResult> {
  const { containers } = frozen;
  // The catalogs come last, and their process starts while the files are patched.
  const { rewriter } = builders;
  if (containers.length > 0) rewriter.prepare();
  const patch = async (staging: string): Promise<BuiltContainers & PatchedFiles> => {
    channel.patched.forgetLost();
    const built = await buildContainers(channel, builders, containers, staging, context);
    hit(channel, 'localized.containers.patched');
    return { ...built, areGiven: false };
  };
  const building = buildFiles(channel, { base, rewriter }, patch, context);
  const published = await publishContent(
    channel,
    {
      base,
      building: building.then((files) => files.replaced),
      wantedId: context.args.localized_release_id ?? null,
      resumes: context.args.resume ?? false,
      beforeCurrent: async (releaseId) => {
        await channel.freezer.record(frozen, releaseId, context.signal);
        hit(channel, 'localized.texts.recorded');
      },
    },
    context,
  );
  const { patched, replaced } = await building;
  await markTasks(channel, published.release.release_id, context);
  hit(channel, 'localized.tasks.marked');
  return {
    ...publishedFields(published),
    ...coverageFields(frozen.counts),
    base_release_id: base.release_id,
    containers: containers.length,
    built_containers: patched.built,
    reused_containers: containers.length - patched.built,
    checked: patched.checked,
    ...filesOf(replaced),
  };
}

/**
 * Marks the tasks of a release as published. The release is current already, so a failure is only logged: the next publish marks
 * them.
 *
 * @param releaseId `null` for a release whose texts are not known
 */
export async function markTasks(
  { texts }: LocalizedChannel,
  releaseId: string | null,
  context: TaskContext,
): Promise<void> {
  try {
    await texts.markPublished(releaseId);
  } catch (error) {
    context.log('warn', `the tasks of the release are not marked as published: ${messageOf(error)}`, {});
  }
}

function policyOf(
  configured: PublishPolicy,
  { min_state: minState, include }: PublishArguments,
): PublishPolicy {
  return {
    ...configured,
    ...(minState === undefined ? {} : { minState }),
    ...(include === undefined ? {} : { include: [include] }),
  };
}

function dryRunOf(base: BaseRow, frozen: FrozenRelease, blockers: TaskResult['blockers']): TaskResult {
  return {
    dry_run: true,
    base_release_id: base.release_id,
    ...coverageFields(frozen.counts),
    blockers,
    blocked_units: frozen.blocked,
    containers: frozen.containers.length,
    files: frozen.containers
      .slice(0, FILES_MAX)
      .map(({ destination, edits }) => ({ destination, edited_units: edits })),
    destinations: frozen.destinations.slice(0, FILES_MAX).map(({ destination, counts }) => ({
      destination,
      ...coverageFields(counts),
    })),
  };
}

function coverageFields(counts: PublishCounts): TaskResult {
  return { coverage: coverageOf(counts), units: counts };
}

/** The files of a release that are not official ones, as results of tasks show them. */
export function filesOf(replaced: Replacements): TaskResult {
  return {
    replaced_entries: replaced.size,
    files: Array.from(replaced, ([destination, { size }]) => ({ destination, size })).slice(0, FILES_MAX),
  };
}
