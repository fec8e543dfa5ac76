import type { Channel } from '../../../domain/release/channel.ts';
import type { ReleaseRepository } from './release-repository.ts';
import type { ReleaseRow } from './release-row.ts';

/** The release of a channel that was published last: the announced one, or else the current one; `null` without both. */
export function publishedLast(
  releases: Pick<ReleaseRepository, 'announcedOf' | 'current' | 'get'>,
  channel: Channel,
): ReleaseRow | null {
  const announced = releases.announcedOf(channel);
  return announced === null ? releases.current(channel) : releases.get(channel, announced.release_id);
}
