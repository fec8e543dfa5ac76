import { CHANNELS } from '../../domain/release/channel.ts';
import { TaskError } from '../../engine/tasks/task.ts';
import type { ReleaseRepository } from './release-repository.ts';
import { isKept, type ReleaseRow } from './release-row.ts';
import type { SelectedReleases } from '../jobs/release-jobs.ts';

/**
 * Selects the releases that a task works on: the named one, or the current ones, or with `force` all kept ones; of one
 * channel if a channel is named.
 *
 * @throws TaskError `unknown_release` when the named release is not kept
 */
export function selectReleases(
  releases: ReleaseRepository,
  { channel, release_id: releaseId, force }: SelectedReleases,
): readonly ReleaseRow[] {
  const channels = channel === undefined ? CHANNELS : [channel];
  if (releaseId !== undefined) {
    const named = channels
      .map((each) => releases.get(each, releaseId))
      .filter((release) => release !== null)
      .filter(isKept);
    if (named.length > 0) return named;
    throw new TaskError('unknown_release', `there is no release ${releaseId}; see the list of releases`);
  }
  const current = channels.map((each) => releases.current(each)).filter((release) => release !== null);
  if (!force) return current;
  const others = releases
    .kept()
    .filter((release) => channels.includes(release.channel))
    .filter((release) => current.every((one) => !isSame(one, release)));
  return [...current, ...others];
}

function isSame(a: ReleaseRow, b: ReleaseRow): boolean {
  return a.channel === b.channel && a.release_id === b.release_id;
}
