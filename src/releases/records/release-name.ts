import { parseReleaseId, type ReleaseId } from '../../domain/release/release-id.ts';

const RELEASE_ID_MAX_LENGTH = 128;

const RELEASE_NAME_ATTEMPTS = 1000;

export interface NameHolder {
  readonly contentDigest: string | null;
  /** Whether the name may have been published with that content (caches may hold its immutable URLs). */
  readonly wasPublishable: boolean;
  readonly channel: 'official' | 'localized';
}

interface NameChoice {
  readonly releaseId: ReleaseId;
  readonly existing: boolean;
}

/**
 * Chooses a name for official content. URLs under a release id are immutable, so a name is never reused for other
 * bytes, even when upstream publishes other content under the same name: the name then gets the suffix `-2`, `-3`, ...
 * Names of deleted releases stay reserved for the same reason.
 *
 * @param upstreamId upstream's name of the release
 * @param contentDigest digest over the destinations and bytes of the release
 * @param holderOf returns the holder of a name, or `null`
 * @returns the name, or `null` when {@link RELEASE_NAME_ATTEMPTS} names are taken by other content
 */
export function chooseReleaseName(
  upstreamId: ReleaseId,
  contentDigest: string,
  holderOf: (name: ReleaseId) => NameHolder | null,
): NameChoice | null {
  for (let number = 1; number <= RELEASE_NAME_ATTEMPTS; number += 1) {
    const releaseId = numberedName(upstreamId, number);
    if (releaseId === null) return null;
    const holder = holderOf(releaseId);
    if (holder === null) return { releaseId, existing: false };
    if (holder.channel !== 'official') continue;
    if (holder.contentDigest === contentDigest) return { releaseId, existing: true };
    if (!holder.wasPublishable) return { releaseId, existing: false };
  }
  return null;
}

function numberedName(upstreamId: ReleaseId, number: number): ReleaseId | null {
  if (number === 1) return upstreamId;
  const suffix = `-${number}`;
  const parsed = parseReleaseId(upstreamId.slice(0, RELEASE_ID_MAX_LENGTH - suffix.length) + suffix);
  return parsed.ok ? parsed.value : null;
}
