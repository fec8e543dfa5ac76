import { parseReleaseId, type ReleaseId } from '../../../domain/release/release-id.ts';

/** Longest release id, in characters. */
const RELEASE_ID_MAX_LENGTH = 128;

/** Maximum number of names that are tried for one upstream release before the sync gives up. */
export const RELEASE_NAME_ATTEMPTS = 1000;

/** What is known of a name that may be taken. */
export interface NameHolder {
  /** Digest over the content of the release that has the name; `null` while it was never completed. */
  readonly contentDigest: string | null;
  /** Whether the name was ever given out with that content (an immutable URL may be cached somewhere). */
  readonly wasPublishable: boolean;
  readonly channel: 'official' | 'localized';
}

/** The name under which content is registered. */
export interface NameChoice {
  readonly releaseId: ReleaseId;
  /** Whether a release with exactly this content has the name already. */
  readonly existing: boolean;
}

/**
 * Names official content. URLs under a release id are immutable, so a name is never given to other bytes, not even
 * when upstream publishes other content under the name it used before: then the name gets the suffix `-2`, `-3`, ...
 * Names of deleted releases stay taken for the same reason.
 *
 * @param upstreamId what upstream calls the release
 * @param contentDigest digest over the destinations and bytes of the release
 * @param holderOf who has a name, or `null`
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
