import type { Failpoints } from '../../../platform/files/failpoints.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import type { ReleaseId } from '../../../domain/release/release-id.ts';
import type { CatalogStore } from '../../releases/catalog/catalog-store.ts';
import type { Publisher } from '../../releases/publish/publish.ts';
import type { ObjectRegistry } from '../../releases/records/object-registry.ts';
import type { ReleaseDraft } from '../../releases/records/release-draft.ts';
import { RELEASES_MAX, type ReleaseRepository } from '../../releases/records/release-repository.ts';
import { documentOfRow, isKept, type ReleaseRow } from '../../releases/records/release-row.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../tasks/task.ts';
import type { RollbackRecords } from '../rollback/rollback-records.ts';
import { requireBase, requireSameBase, type BaseRow } from './base-release.ts';
import type { LocalizedFailpoint } from './localized-failpoints.ts';
import { chooseLocalizedName } from './localized-name.ts';
import { writeLocalizedRevision, type LocalizedRevision } from './localized-revision.ts';
import type { Replacements } from './stage-patches.ts';

/** Most files that the result of a publish names. */
export const FILES_MAX = 500;

export interface ContentDependencies {
  readonly releases: ReleaseRepository;
  readonly catalogs: CatalogStore;
  readonly objects: ObjectRegistry;
  readonly publisher: Publisher;
  readonly rollbacks: Pick<RollbackRecords, 'reinstate' | 'resume' | 'stoppedBy'>;
  readonly clock: Clock;
  readonly failpoints: Failpoints;
}

/** The content of a localized release: its base, and the objects that replace official ones. */
export interface LocalizedContent {
  readonly base: BaseRow;
  readonly replaced: Replacements;
  /** The name that the caller wants, or `null`. */
  readonly wantedId: ReleaseId | null;
  /** Whether automatic publishing is resumed. It is recorded directly after the switch, so that reports do not show a stop that is over. */
  readonly resumes: boolean;
  /** Called with the name when the release is complete, before it becomes current; for content that is current already, too. */
  readonly beforeCurrent?: (releaseId: ReleaseId) => Promise<void>;
}

/** A localized release that is current now, or announced. */
export interface PublishedContent {
  readonly release: ReleaseRow;
  /** Whether it was current before, with the same content. */
  readonly unchanged: boolean;
  /** When it becomes current if it is announced, Unix seconds. */
  readonly currentAt: number | null;
  /** `null` when nothing changed. */
  readonly attestationVersion: number | null;
  /** Whether it resumed automatic publishing: `false` when it was not stopped, or an earlier attempt resumed it; `null` when it was not to. */
  readonly resumed: boolean | null;
}

/**
 * Registers a localized release whose objects are all in the store, and makes it current or announces it. Content that is current
 * already only takes an announcement back; content of an earlier localized release of this base makes that one current again.
 *
 * @throws TaskError `unknown_destination`, `release_exists`, `base_mismatch`, those of the publisher
 */
export async function publishContent(
  deps: ContentDependencies,
  { base, replaced, wantedId, resumes, beforeCurrent }: LocalizedContent,
  context: TaskContext,
): Promise<PublishedContent> {
  const { releases, publisher, failpoints } = deps;
  const hit = (name: LocalizedFailpoint): void => {
    failpoints.hit(name);
  };
  const resume = (): boolean | null => (resumes ? deps.rollbacks.resume(unixSeconds(deps.clock)) : null);
  try {
    const revision = await writeLocalizedRevision(deps, base, replaced, context);
    hit('localized.revision.written');
    const draft = draftOf(releases, base, revision, wantedId);
    const current = releases.current('localized');
    if (current?.release_id === draft.releaseId && current.state === 'current') {
      context.log('info', 'the current localized release has this content', {
        release_id: current.release_id,
      });
      // An earlier attempt can have ended before it did this, and texts that change no byte can be new.
      await beforeCurrent?.(current.release_id);
      deps.rollbacks.reinstate(current.release_id, unixSeconds(deps.clock));
      const attestationVersion = await publisher.cancelAnnouncement('localized', context);
      return { release: current, unchanged: true, currentAt: null, attestationVersion, resumed: resume() };
    }
    const release = await publisher.register(draft, context);
    await beforeCurrent?.(release.release_id);
    requireSameBase(requireBase(releases), base.release_id);
    const { version: attestationVersion, currentAt } = await publisher.announceOrSwitch(release, context);
    if (currentAt === null) {
      deps.rollbacks.reinstate(release.release_id, unixSeconds(deps.clock));
      context.log('info', 'the localized release is current', {
        release_id: release.release_id,
        base_release_id: base.release_id,
        attestation_version: attestationVersion,
      });
    }
    const resumed = resume();
    hit('localized.release.current');
    return { release, unchanged: false, currentAt, attestationVersion, resumed };
  } finally {
    for (const unused of deps.catalogs.unreferenced()) await deps.catalogs.drop(unused);
  }
}

/** A published release as results of tasks show it. */
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
  };
}

/** The newest kept localized release of the base with this content. */
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
