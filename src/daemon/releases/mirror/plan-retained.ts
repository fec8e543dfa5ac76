import type { AttestationStatement, RetainedRelease } from '../../../domain/verdict/attestation.ts';
import { isAnnounced } from '../../../domain/verdict/announced.ts';
import { CHANNELS, type Channel } from '../../../domain/release/channel.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import { isKept } from '../records/release-row.ts';

/** An earlier release of the origin that is not here, and its place among those of its channel; 0 is the newest. */
export interface MissingRetained {
  readonly release: RetainedRelease;
  readonly place: number;
}

/**
 * The earlier releases that the origin still serves under their own path and that are missing here: of each channel the newest, as many
 * as are retained here. A client that learned of one at the origin or at another edge can so finish here.
 *
 * @param options.count number of earlier releases of a channel that stay reachable here
 */
export function missingRetained(
  statement: AttestationStatement,
  releases: Pick<ReleaseRepository, 'get'>,
  { channels, count }: { readonly channels: readonly Channel[]; readonly count: number },
): readonly MissingRetained[] {
  return CHANNELS.filter((channel) => channels.includes(channel)).flatMap((channel) =>
    statement.retained
      .filter((release) => release.channel === channel && !isAnnounced(release))
      .slice(0, count)
      .map((release, place) => ({ release, place }))
      .filter(({ release }) => {
        const held = releases.get(channel, release.release_id);
        return held === null || !isKept(held) || held.snapshot_id !== release.snapshot_id;
      }),
  );
}
