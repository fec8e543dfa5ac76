import type { Announcement, ReleaseRepository } from '../../releases/records/release-repository.ts';
import type { ReleaseRow } from '../../releases/records/release-row.ts';

/** The announcement of the localized channel, or `null`. */
export function announcedLocalized(releases: Pick<ReleaseRepository, 'announced'>): Announcement | null {
  return releases.announced().find(({ channel }) => channel === 'localized') ?? null;
}

/** The localized release that was published last: the announced one, or else the current one; `null` without both. */
export function publishedLast(
  releases: Pick<ReleaseRepository, 'announced' | 'current' | 'get'>,
): ReleaseRow | null {
  const announced = announcedLocalized(releases);
  return announced === null ? releases.current('localized') : releases.get('localized', announced.release_id);
}
