import { releaseAt } from '../../../domain/verdict/announced.ts';
import { CHANNELS, type Channel } from '../../../domain/release/channel.ts';
import { unixSeconds } from '../../../platform/process/clock.ts';
import { implementJob, type ArgumentsOf, type Job } from '../../tasks/job.ts';
import type { TaskContext, TaskResult } from '../../tasks/task.ts';
import { SYNC_JOB } from '../jobs/release-jobs.ts';
import type { SourceRelease } from '../../../mirror/attested-source.ts';
import { isNamedByOrigin, type HeldOrigin } from '../records/origin-repository.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import { lookAtCurrent, tidy } from '../sync/sync-steps.ts';
import { copyRelease, type CopiedRelease } from './copy-release.ts';
import { copyRetained, type RetainedDependencies } from './copy-retained.ts';
import { announcementStep } from './announcement-step.ts';
import { isHeldBy, planMirror, type MirrorStep } from './mirror-plan.ts';
import { readOrigin, type ReadOriginDependencies } from './read-origin.ts';

export interface MirrorDependencies extends RetainedDependencies, ReadOriginDependencies {}

/**
 * The task `sync` of an edge: makes the current releases those that the origin attests. Clients get the previous ones
 * until every byte of the new ones is in the store and checked. Announced and earlier releases of the origin follow. A sync that fails changes nothing for them.
 */
export function createMirrorTask(deps: MirrorDependencies): Job {
  return implementJob(SYNC_JOB, async (context) => await mirror(deps, context));
}

async function mirror(
  deps: MirrorDependencies,
  context: TaskContext<ArgumentsOf<typeof SYNC_JOB>>,
): Promise<TaskResult> {
  const look = await readOrigin(deps, deps.attested, null, context.signal);
  if (look === null) throw new Error('the origin answered "not modified" to an unconditional request');
  const { held } = look;
  const copied: CopiedRelease[] = [];
  const channels = CHANNELS.filter((each) => deps.attested.channels.includes(each));
  let version: number | null = null;
  let hasChanged = false;
  const withdraw = async (channel: Channel): Promise<void> => {
    hasChanged = true;
    version = await deps.publisher.withdraw(channel, context);
    context.log('warn', 'the origin withdrew the channel', { channel });
  };
  // A copy can take long or fail, and neither may delay what the origin took back.
  for (const channel of channels.filter((each) => isTakenBack(deps, held, each))) await withdraw(channel);
  // The official channel first: a localized release needs its base.
  for (const channel of channels) {
    const step = stepOf(deps, held, channel, await lookAtCurrent(deps, channel, context));
    if (step.kind === 'wait') context.log('warn', step.message, { channel });
    if (step.kind === 'withdraw') await withdraw(channel);
    if (step.kind !== 'follow') continue;
    hasChanged = true;
    const copy = await copyRelease(deps, held, step.release, context);
    copied.push(copy);
    version = await deps.publisher.makeCurrent(copy.release, context);
    context.log('info', 'the release is current', {
      channel,
      release_id: copy.release.release_id,
      attestation_version: version,
    });
  }
  for (const channel of channels) {
    const followed = await followAnnouncement(deps, held, channel, context);
    if (followed.copy !== null) copied.push(followed.copy);
    version = followed.version ?? version;
  }
  copied.push(...(await copyRetained(deps, held, context)));
  version ??= await deps.attestor.issue('sync: unchanged');
  await tidy(deps, context.taskId);
  return resultOf(deps, held, { copied, hasChanged, version });
}

/**
 * Whether the origin no longer names the current release of a channel, and has no other for it. A localized release that is only
 * stale, because the origin has a new official one, is still named as an earlier one: it leaves with its base.
 */
function isTakenBack(deps: MirrorDependencies, { statement }: HeldOrigin, channel: Channel): boolean {
  const current = deps.releases.current(channel);
  if (current === null || isNamedByOrigin(statement, current)) return false;
  return releaseAt(statement, channel, announcementTime(deps)) === null;
}

function stepOf(
  deps: MirrorDependencies,
  { statement }: HeldOrigin,
  channel: Channel,
  current: ReleaseRow | null,
): MirrorStep {
  const officialId = deps.releases.pointer('official')?.release_id ?? null;
  const isThere = (release: SourceRelease): boolean => isHeldBy(deps.attested.source, release);
  return planMirror(statement, { channel, current, officialId, isThere }, announcementTime(deps));
}

/** The instant at which announcements are judged, Unix seconds. An attestation that was carried here arrives too late to announce anything. */
function announcementTime({ attested, clock }: MirrorDependencies): number {
  return attested.isCarried === true ? 0 : unixSeconds(clock);
}

/** The copy of an announced release, and the version of the new attestation. */
interface FollowedAnnouncement {
  readonly copy: CopiedRelease | null;
  readonly version: number | null;
}

/** Announces what the origin announces: the bytes are fetched now, and the release becomes current at the stated time. */
async function followAnnouncement(
  deps: MirrorDependencies,
  held: HeldOrigin,
  channel: Channel,
  context: TaskContext,
): Promise<FollowedAnnouncement> {
  if (deps.attested.isCarried === true) return { copy: null, version: null };
  const { releases, publisher, clock } = deps;
  const step = announcementStep(releases, held.statement, channel, unixSeconds(clock));
  if (step.kind === 'none') return { copy: null, version: null };
  if (step.kind === 'restate')
    return { copy: null, version: await publisher.restate(step.announced, step.currentAt, context) };
  if (step.kind === 'cancel') {
    context.log('info', 'the origin took its announcement back', { channel });
    return { copy: null, version: await publisher.cancelAnnouncement(channel, context) };
  }
  const copy = await copyRelease(deps, held, step.release, context);
  const isCopied = ({ attested }: SourceRelease): boolean =>
    attested.release_id === copy.release.release_id && attested.snapshot_id === copy.release.snapshot_id;
  // Copying takes time, in which the origin can take the announcement back or change its time, or the time can pass.
  const newest = deps.origins.held() ?? held;
  const due = stepOf(deps, newest, channel, releases.current(channel));
  if (due.kind === 'follow' && isCopied(due.release))
    return { copy, version: await publisher.makeCurrent(copy.release, context) };
  const still = announcementStep(releases, newest.statement, channel, unixSeconds(clock));
  if (still.kind !== 'announce' || !isCopied(still.release)) return { copy, version: null };
  const { release_id } = copy.release;
  const version = await publisher.announce(copy.release, still.currentAt, context);
  context.log('info', 'the release is announced', { channel, release_id, current_at: still.currentAt });
  return { copy, version };
}

function resultOf(
  { releases }: MirrorDependencies,
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
