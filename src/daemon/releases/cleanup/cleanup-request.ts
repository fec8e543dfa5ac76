import { TaskError, type TaskArguments } from '../../tasks/task.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import { isKept, type ReleaseRow } from '../records/release-row.ts';
import { planCleanup, selectRetained, type CleanupPlan, type RetentionLimits } from './retention-rules.ts';

/** Releases looked through. */
const RELEASES_MAX = 10_000;

/**
 * Plans what a cleanup task with these arguments does now.
 *
 * @param args `count`, `force`, and at most one of `id` and `localized_release_id`
 * @param nowSeconds Unix seconds
 * @throws TaskError `unknown_release`, `release_protected`
 */
export function planRequestedCleanup(
  releases: ReleaseRepository,
  retention: RetentionLimits,
  args: TaskArguments,
  nowSeconds: number,
): CleanupPlan {
  const situation = {
    releases: releases.list(null, RELEASES_MAX),
    pointers: { official: releases.pointer('official'), localized: releases.pointer('localized') },
  };
  const named = namedRelease(situation.releases, args);
  const plan = planCleanup(situation, selectRetained(situation, retention, nowSeconds), {
    count: Math.max(1, typeof args['count'] === 'number' ? args['count'] : 1),
    only: named === null ? null : [{ channel: named.channel, releaseId: named.release_id }],
    force: args['force'] === true,
  });
  if (named !== null && !plan.remove.includes(named)) {
    const kept = plan.keep.find(({ release }) => release === named);
    throw new TaskError(
      'release_protected',
      `release ${named.release_id} is not deleted: ${EXPLAIN[kept?.why ?? 'current']}`,
      { details: { release_id: named.release_id, why: kept?.why ?? 'current' } },
    );
  }
  return plan;
}

const EXPLAIN = {
  current: 'it is the current release of its channel',
  previous: 'it is the release before the current one, to which a rollback would lead',
  pinned: 'it is pinned',
  base_of_localized: 'a localized release that is kept was made from it',
  retained: 'clients may still be downloading it; send force to delete it all the same',
  newest: 'it is among the releases to keep',
} as const;

function namedRelease(releases: readonly ReleaseRow[], args: TaskArguments): ReleaseRow | null {
  const { id, localized_release_id: localizedId } = args;
  if (typeof id !== 'string' && typeof localizedId !== 'string') return null;
  const found = releases.find(
    (release) =>
      isKept(release) &&
      (typeof localizedId === 'string'
        ? release.channel === 'localized' && release.release_id === localizedId
        : release.release_id === id),
  );
  if (found === undefined) {
    throw new TaskError(
      'unknown_release',
      `no release ${String(localizedId ?? id)} is kept; see the list of releases`,
    );
  }
  return found;
}
