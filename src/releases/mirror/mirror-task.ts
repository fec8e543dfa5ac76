import { announcementTime, isNewer, mirrorStep } from './origin-state.ts';
import { copyRelease, type CopiedRelease } from './copy-release.ts';
import type { MirrorParts } from './mirror-parts.ts';
import { releaseAt } from '../../domain/verdict/announced.ts';
import { CHANNELS, type Channel } from '../../domain/release/channel.ts';
import { unixSeconds } from '../../platform/process/clock.ts';
import type { TaskContext, TaskResult } from '../../engine/tasks/task.ts';
import type { SourceRelease } from '../../mirror/attested-source.ts';
import { isNamedByOrigin, type HeldOrigin } from '../records/origin-repository.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import { checkCurrent, forgetUnfinished, tidy } from '../sync/sync-steps.ts';
import { announcementStep, missingRetained, type MirrorStep } from './mirror-plan.ts';
import { readOrigin } from './read-origin.ts';
import { messageOf } from '../../platform/errors.ts';

/**
 * The task `sync` of an edge: makes the current releases those that the origin attests. Clients get the previous ones
 * until every byte of the new ones is in the store and checked. Announced and earlier releases of the origin follow. A sync that fails changes nothing for them.
 */
export async function mirrorOrigin(parts: MirrorParts, context: TaskContext): Promise<TaskResult> {
  const { attested } = parts.upstream;
  const state = await readOrigin(parts, attested, null, context.signal);
  if (state === null) throw new Error('the origin answered "not modified" to an unconditional request');
  const { held } = state;
  const copied: CopiedRelease[] = [];
  const channels = CHANNELS.filter((each) => attested.channels.includes(each));
  // Of the runs before that failed, only the newest manifest that was read is of use.
  await forgetUnfinished(parts, channels);
  for (const revisionId of parts.catalogs.unreferenced()) await parts.catalogs.drop(revisionId);
  let version: number | null = null;
  let hasChanged = false;
  let wentBack: TaskResult = {};
  const withdraw = async (channel: Channel): Promise<void> => {
    hasChanged = true;
    version = await parts.publisher.withdraw(channel, context);
    context.log('warn', 'the origin withdrew the channel', { channel });
  };
  // A copy can take long or fail, and neither may delay what the origin took back.
  for (const channel of channels.filter((each) => isTakenBack(parts, held, each))) await withdraw(channel);
  // The official channel first: a localized release needs its base.
  for (const channel of channels) {
    const now = unixSeconds(parts.clock);
    const stepFrom = (current: ReleaseRow | null): MirrorStep =>
      mirrorStep(attested, held.statement, parts.releases, { channel, current }, now);
    const before = parts.releases.current(channel);
    const soon = stepFrom(before);
    // Nothing that can fail stands between the start of the check and the wait for it, so it never outlives the task. Damage does not take
    // the step to another release away, so what differs is read meanwhile.
    const checking = checkCurrent(parts, channel, context);
    const step = soon.kind === 'follow' ? soon : stepFrom(await checking);
    if (step.kind === 'wait') context.log('warn', step.message, { channel });
    if (step.kind === 'withdraw') await withdraw(channel);
    if (step.kind !== 'follow') continue;
    hasChanged = true;
    const copy = await copyRelease(parts, held, step.release, context, checking);
    copied.push(copy);
    version = await parts.publisher.makeCurrent(copy.release, context);
    context.log('info', 'the release is current', {
      channel,
      release_id: copy.release.release_id,
      attestation_version: version,
    });
    if (before !== null && isNewer(before, copy.release)) {
      wentBack = { went_back_from: before.release_id, went_back_to: copy.release.release_id };
      context.log(
        'warn',
        `the origin went back to release ${copy.release.release_id}: by a rollback, or because it was restored from an old copy`,
        { channel, ...wentBack },
      );
    }
  }
  for (const channel of channels) {
    const followed = await followAnnouncement(parts, held, channel, context);
    if (followed.copy !== null) copied.push(followed.copy);
    version = followed.version ?? version;
  }
  copied.push(...(await copyRetained(parts, held, context)));
  version ??= await parts.attestor.issue('sync: unchanged');
  await tidy(parts, context.taskId);
  return { ...resultOf(parts, held, { copied, hasChanged, version }), ...wentBack };
}

/**
 * Whether the origin no longer names the current release of a channel, and has no other for it. A localized release that is only
 * stale, because the origin has a new official one, is still named as an earlier one: it leaves with its base.
 */
function isTakenBack(parts: MirrorParts, { statement }: HeldOrigin, channel: Channel): boolean {
  const current = parts.releases.current(channel);
  if (current === null || isNamedByOrigin(statement, current)) return false;
  return (
    releaseAt(statement, channel, announcementTime(parts.upstream.attested, unixSeconds(parts.clock))) ===
    null
  );
}

/** Announces what the origin announces: the bytes are fetched now, and the release becomes current at the stated time. */
async function followAnnouncement(
  parts: MirrorParts,
  held: HeldOrigin,
  channel: Channel,
  context: TaskContext,
): Promise<{ readonly copy: CopiedRelease | null; readonly version: number | null }> {
  if (parts.upstream.attested.isCarried === true) return { copy: null, version: null };
  const { releases, publisher, attestor, clock } = parts;
  const step = announcementStep(releases, held.statement, channel, unixSeconds(clock));
  if (step.kind === 'none') return { copy: null, version: null };
  if (step.kind === 'restate')
    return {
      copy: null,
      version: await context.commit(() => attestor.restate(step.announced, step.currentAt)),
    };
  if (step.kind === 'cancel') {
    context.log('info', 'the origin took its announcement back', { channel });
    return { copy: null, version: await publisher.cancelAnnouncement(channel, context) };
  }
  const copy = await copyRelease(parts, held, step.release, context);
  const isCopied = ({ attested }: SourceRelease): boolean =>
    attested.release_id === copy.release.release_id && attested.snapshot_id === copy.release.snapshot_id;
  // Copying takes time, in which the origin can take the announcement back or change its time, or the time can pass.
  const newest = parts.origins.held() ?? held;
  const due = mirrorStep(
    parts.upstream.attested,
    newest.statement,
    releases,
    { channel, current: releases.current(channel) },
    unixSeconds(clock),
  );
  if (due.kind === 'follow' && isCopied(due.release))
    return { copy, version: await publisher.makeCurrent(copy.release, context) };
  const still = announcementStep(releases, newest.statement, channel, unixSeconds(clock));
  if (still.kind !== 'announce' || !isCopied(still.release)) return { copy, version: null };
  const { release_id } = copy.release;
  const version = await context.commit(() => attestor.announce(channel, release_id, still.currentAt));
  context.log('info', 'the release is announced', { channel, release_id, current_at: still.currentAt });
  return { copy, version };
}

function resultOf(
  { releases }: MirrorParts,
  { version: originVersion }: HeldOrigin,
  done: {
    readonly copied: readonly CopiedRelease[];
    readonly hasChanged: boolean;
    readonly version: number | null;
  },
): TaskResult {
  const sum = (of: (copy: CopiedRelease) => number): number =>
    done.copied.reduce((total, copy) => total + of(copy), 0);
  return {
    unchanged: !done.hasChanged,
    release_id: releases.current('official')?.release_id ?? null,
    localized_release_id: releases.current('localized')?.release_id ?? null,
    origin_attestation_version: originVersion,
    downloaded_entries: sum((copy) => copy.downloadedEntries),
    downloaded_bytes: sum((copy) => copy.downloadedBytes),
    reused_entries: sum((copy) => copy.reusedEntries),
    attestation_version: done.version,
  };
}

/**
 * Copies the earlier releases that the origin retains and that are missing here. They matter less than the current ones, so one that
 * cannot be copied is only logged.
 *
 * @throws the reason of the task's signal
 */
async function copyRetained(
  parts: MirrorParts,
  origin: HeldOrigin,
  context: TaskContext,
): Promise<readonly CopiedRelease[]> {
  const { releases, attestor } = parts;
  const { attested } = parts.upstream;
  // A source that was carried here has one release only.
  if (attested.isCarried === true) return [];
  const copied: CopiedRelease[] = [];
  const missing = missingRetained(origin.statement, releases, {
    channels: attested.channels,
    count: parts.configuration().retention.retained,
  });
  for (const { release, place } of missing) {
    const { channel, release_id } = release;
    try {
      copied.push(await copyRelease(parts, origin, { channel, attested: release }, context));
    } catch (error) {
      context.signal.throwIfAborted();
      context.log('warn', `an earlier release cannot be copied now: ${messageOf(error)}`, {
        channel,
        release_id,
      });
      continue;
    }
    // It was never current here. The order of the origin decides which ones stay reachable.
    const leftAt = origin.issuedAt - place;
    releases.update(channel, release_id, {
      state: 'superseded',
      published_at: leftAt,
      superseded_at: leftAt,
    });
    context.log('info', 'an earlier release was copied', { channel, release_id });
  }
  if (copied.length > 0) await attestor.issue('sync: earlier releases');
  return copied;
}
