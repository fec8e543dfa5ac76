import { unixSeconds } from '../../../platform/process/clock.ts';
import { type ReleaseId, parseReleaseId } from '../../../domain/release/release-id.ts';
import type { ReleaseDraft } from '../../../releases/records/release-record-of.ts';
import { RELEASES_MAX, type ReleaseRepository } from '../../../releases/records/release-repository.ts';
import { documentOfRow, isKept, type ReleaseRow } from '../../../releases/records/release-row.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../../engine/tasks/task.ts';
import { hit, type LocalizedChannel } from '../channel.ts';
import { requireBase, requireSameBase, type BaseRow } from './base-release.ts';
import { writeLocalizedRevision, type LocalizedRevision } from './localized-revision.ts';
import type { Replacements } from './stage-patches.ts';

export const FILES_MAX = 500;

interface LocalizedContent {
  readonly base: BaseRow;
  /** The files that replace official ones, when they are in the store. */
  readonly building: Promise<Replacements>;
  readonly wantedId: ReleaseId | null;
  /** Whether automatic publishing is resumed. It is recorded directly after the switch, so that reports do not show a stop that is over. */
  readonly resumes: boolean;
  /** Called with the name when the release is complete, before it becomes current; also for content that is current already. */
  readonly beforeCurrent?: (releaseId: ReleaseId) => Promise<void>;
}

interface PublishedContent {
  readonly release: ReleaseRow;
  readonly unchanged: boolean;
  /** When it becomes current if it is announced, Unix seconds. */
  readonly currentAt: number | null;
  readonly attestationVersion: number | null;
  /** Whether it resumed automatic publishing: `false` when it was not stopped, or an earlier attempt resumed it; `null` when it was not to. */
  readonly resumed: boolean | null;
}

/**
 * Registers a localized release, and makes it current or announces it. Content that is current already only takes an
 * announcement back; content of an earlier localized release of this base makes that one current again. Its files are being
 * built; whatever fails, the build has ended when this ends.
 *
 * @throws TaskError `release_exists`, `base_mismatch`, those of the publisher; what `building` rejects with
 */
export async function publishContent(
  channel: LocalizedChannel,
  { base, building, wantedId, resumes, beforeCurrent }: LocalizedContent,
  context: TaskContext,
): Promise<PublishedContent> {
  const { releases, publisher, rollbacks, clock } = channel;
  const resume = (): boolean | null => (resumes ? rollbacks.resume(unixSeconds(clock)) : null);
  const built = building.then(
    () => undefined,
    () => undefined,
  );
  try {
    // Those of attempts that were killed.
    await dropUnreferenced(channel);
    const revision = await writeLocalizedRevision(channel, base, building, context);
    hit(channel, 'localized.revision.written');
    const draft = draftOf(releases, base, revision, wantedId);
    const current = releases.current('localized');
    if (current?.release_id === draft.releaseId && current.state === 'current') {
      context.log('info', 'the current localized release has this content', {
        release_id: current.release_id,
      });
      // An earlier attempt can have ended before it did this, and texts that change no byte can be new.
      await beforeCurrent?.(current.release_id);
      rollbacks.reinstate(current.release_id, unixSeconds(clock));
      const attestationVersion = await publisher.cancelAnnouncement('localized', context);
      const resumed = resume();
      return { release: current, unchanged: true, currentAt: null, attestationVersion, resumed };
    }
    const release = await publisher.register(draft, context);
    await beforeCurrent?.(release.release_id);
    requireSameBase(requireBase(releases), base.release_id);
    const { version: attestationVersion, currentAt } = await publisher.announceOrSwitch(release, context);
    if (currentAt === null) {
      rollbacks.reinstate(release.release_id, unixSeconds(clock));
      context.log('info', 'the localized release is current', {
        release_id: release.release_id,
        base_release_id: base.release_id,
        attestation_version: attestationVersion,
      });
    }
    const resumed = resume();
    hit(channel, 'localized.release.current');
    return { release, unchanged: false, currentAt, attestationVersion, resumed };
  } finally {
    await built;
    await dropUnreferenced(channel);
  }
}

async function dropUnreferenced({ catalogs }: LocalizedChannel): Promise<void> {
  for (const unused of catalogs.unreferenced()) await catalogs.drop(unused);
}

export function publishedFields({
  release,
  unchanged,
  currentAt,
  attestationVersion,
  resumed,
}: PublishedContent): TaskResult {
  return {
    unchanged,
    localized_release_id: release.release_id,
    snapshot_id: release.snapshot_id,
    entry_count: release.entry_count,
    total_bytes: release.total_bytes,
    attestation_version: attestationVersion,
    ...(currentAt === null ? {} : { current_at: currentAt }),
    ...(resumed === null ? {} : { resumed }),
  };
}

function draftOf(
  releases: ReleaseRepository,
  base: BaseRow,
  { revisionId, content }: LocalizedRevision,
  wantedId: ReleaseId | null,
): ReleaseDraft {
  const named = { baseId: base.release_id, digest: content.digest };
  const same = wantedId === null ? withContent(releases, named) : null;
  const releaseId = same?.release_id ?? chooseLocalizedName(named, wantedId, (name) => releases.named(name));
  if (releaseId === null) {
    throw new TaskError(
      'release_exists',
      wantedId === null
        ? `every name for a localized release of ${base.release_id} is used by other content; name one in localized_release_id`
        : `the release id ${wantedId} is used by a release with other content; choose another one`,
    );
  }
  return {
    channel: 'localized',
    releaseId,
    upstreamReleaseId: releaseId,
    baseReleaseId: base.release_id,
    revisionId,
    content,
    serverInfo: documentOfRow(base),
    appVersion: base.app_version,
    excludedCount: base.excluded_count,
  };
}

function withContent(
  releases: ReleaseRepository,
  { baseId, digest }: { readonly baseId: string; readonly digest: string },
): ReleaseRow | null {
  return (
    releases
      .list('localized', RELEASES_MAX)
      .find(
        (release) =>
          release.base_release_id === baseId && release.content_digest === digest && isKept(release),
      ) ?? null
  );
}

const RELEASE_ID_MAX_LENGTH = 128;

const LOCALIZED_NAME_ATTEMPTS = 10_000;

interface NamedContent {
  readonly baseId: ReleaseId;
  readonly digest: string;
}

/**
 * Chooses the name of a localized release. Addresses under a release id are immutable, so a name is never reused for other
 * bytes. Without a wanted name it is the base's with the suffix `-l1`, `-l2`, ...
 *
 * @param wanted the name that the caller wants, or `null`
 * @param holderOf returns the release that has a name, in any channel and state, or `null`
 * @returns the name, or `null` when the wanted one, or every one that was tried, belongs to other content
 */
function chooseLocalizedName(
  content: NamedContent,
  wanted: ReleaseId | null,
  holderOf: (name: ReleaseId) => ReleaseRow | null,
): ReleaseId | null {
  if (wanted !== null) return isUsable(content, holderOf(wanted)) ? wanted : null;
  for (let number = 1; number <= LOCALIZED_NAME_ATTEMPTS; number += 1) {
    const name = numberedName(content.baseId, number);
    if (name === null) return null;
    if (isUsable(content, holderOf(name))) return name;
  }
  return null;
}

/** Whether a name is free, has this content, or belongs to an attempt that never became complete. */
function isUsable({ baseId, digest }: NamedContent, holder: ReleaseRow | null): boolean {
  if (holder === null) return true;
  if (holder.channel !== 'localized') return false;
  if (holder.base_release_id === baseId && holder.content_digest === digest) return true;
  return holder.published_at === null && ['staging', 'failed'].includes(holder.state);
}

function numberedName(baseId: ReleaseId, number: number): ReleaseId | null {
  const suffix = `-l${number}`;
  const parsed = parseReleaseId(baseId.slice(0, RELEASE_ID_MAX_LENGTH - suffix.length) + suffix);
  return parsed.ok ? parsed.value : null;
}
