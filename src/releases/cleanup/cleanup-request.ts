import type { ReleasesConfiguration } from '../releases-configuration.ts';
import { TaskError } from '../../engine/tasks/task.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import { planCleanup, selectRetained, situationOf, type CleanupPlan } from '../records/retention-rules.ts';
import { isKept, type ReleaseRow } from '../records/release-row.ts';
import type { CleanupArguments } from '../jobs/release-jobs.ts';

/**
 * Plans the work of a cleanup task with these arguments.
 *
 * @param nowSeconds Unix seconds
 * @throws TaskError `unknown_release`, `release_protected`
 */
export function planRequestedCleanup(
  releases: ReleaseRepository,
  retention: ReleasesConfiguration['retention'],
  args: CleanupArguments,
  nowSeconds: number,
): CleanupPlan {
  const situation = situationOf(releases);
  const named = namedRelease(situation.releases, args);
  const plan = planCleanup(situation, selectRetained(situation, retention, nowSeconds), {
    count: args.count ?? retention.keep,
    only: named === null ? null : [{ channel: named.channel, releaseId: named.release_id }],
    force: args.force,
  });
  if (named !== null && !plan.remove.includes(named)) {
    const why = plan.keep.find(({ release }) => release === named)?.why ?? 'current';
    const advice = why === 'retained' ? `; to delete it anyway: ${forcedCommand(named)}` : '';
    throw new TaskError(
      'release_protected',
      `release ${named.release_id} is not deleted: ${EXPLAIN[why]}${advice}`,
      { details: { release_id: named.release_id, why } },
    );
  }
  return plan;
}

const EXPLAIN = {
  current: 'it is the current release of its channel',
  announced: 'it is announced and becomes the current release',
  previous: 'it is the previous release, the target of a rollback',
  pinned: 'it is pinned',
  base_of_localized: 'it is the base of a localized release that is kept',
  retained: 'clients may still be downloading it',
  newest: 'it is among the releases to keep',
} as const;

function forcedCommand({ channel, release_id: releaseId }: ReleaseRow): string {
  const field = channel === 'localized' ? 'localized_release_id' : 'id';
  return `slipway ctl run release-cleanup ${field}=${releaseId} force=true`;
}

function namedRelease(releases: readonly ReleaseRow[], args: CleanupArguments): ReleaseRow | null {
  const { id, localized_release_id: localizedId } = args;
  const name = localizedId ?? id;
  if (name === undefined) return null;
  const found = releases.find(
    (release) =>
      isKept(release) &&
      release.release_id === name &&
      (localizedId === undefined || release.channel === 'localized'),
  );
  if (found === undefined) {
    throw new TaskError('unknown_release', `no release ${name} is kept; see the list of releases`);
  }
  return found;
}
