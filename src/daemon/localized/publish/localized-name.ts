import { parseReleaseId, type ReleaseId } from '../../../domain/release/release-id.ts';
import type { ReleaseRow } from '../../releases/records/release-row.ts';

/** Maximum length of a release id, in characters. */
const RELEASE_ID_MAX_LENGTH = 128;

/** Maximum number of names tried for the localized releases of one base. */
export const LOCALIZED_NAME_ATTEMPTS = 10_000;

/** The content that needs a name. */
export interface NamedContent {
  readonly baseId: ReleaseId;
  /** Digest over the destinations and bytes. */
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
export function chooseLocalizedName(
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
