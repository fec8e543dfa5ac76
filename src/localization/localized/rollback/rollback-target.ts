import {
  publishedLast,
  RELEASES_MAX,
  type ReleaseRepository,
} from '../../../releases/records/release-repository.ts';
import { isKept, type ReleaseRow } from '../../../releases/records/release-row.ts';
import { TaskError } from '../../../engine/tasks/task.ts';
import { takenBackBy } from './rollback-effect.ts';
import type { RollbackRecords } from './rollback-records.ts';

interface RollbackPlan {
  readonly from: ReleaseRow;
  /** `null`: the channel is withdrawn. */
  readonly to: ReleaseRow | null;
}

/**
 * Decides what a rollback does. It takes back the release that was published last: the announced one, if there is one, otherwise the
 * current one. Without a wanted release, the one that takes its place is the current one, when it is sound and only the announced one
 * is taken back; otherwise the sound one that was current last. It is built on the current official release and was not taken back
 * itself since.
 *
 * @param args the release that the caller wants instead, and the one that it takes back; default: the one that was published last
 * @throws TaskError `nothing_to_roll_back`, `unknown_release`, `base_mismatch`, `release_changed`
 */
export function planRollback(
  releases: ReleaseRepository,
  rollbacks: RollbackRecords,
  args: { readonly localized_release_id?: string | undefined; readonly from?: string | undefined },
): RollbackPlan {
  const { localized_release_id: wanted = null, from: expected = null } = args;
  const current = releases.current('localized');
  if (current === null) {
    throw new TaskError('nothing_to_roll_back', 'no localized release is current');
  }
  const from = expected === current.release_id ? current : (publishedLast(releases, 'localized') ?? current);
  if (expected !== null && from.release_id !== expected) throw releaseChanged(expected, from.release_id);
  const baseId = releases.pointer('official')?.release_id ?? null;
  if (wanted !== null) return { from, to: wantedTarget(releases, from, baseId, wanted) };
  const earlier = releases
    .list('localized', RELEASES_MAX)
    .filter(
      (release) =>
        release.release_id !== from.release_id &&
        release.base_release_id === baseId &&
        (release.state === 'superseded' || release.state === 'current') &&
        release.published_at !== null &&
        takenBackBy(releases, rollbacks, release.release_id) === null,
    )
    .toSorted((a, b) => leftAt(b) - leftAt(a));
  return { from, to: earlier[0] ?? null };
}

/** When a release was current last, Unix seconds. The one that is current now comes after all others. */
function leftAt({ state, superseded_at: at }: ReleaseRow): number {
  return state === 'current' ? Number.MAX_SAFE_INTEGER : (at ?? 0);
}

/** The error of a rollback of a release that is no longer current. */
export function releaseChanged(from: string, currentId: string | null): TaskError {
  return new TaskError(
    'release_changed',
    `localized release ${from} is no longer current, so it was not taken back: ${currentId ?? 'none'} is; check it and roll back again`,
  );
}

function wantedTarget(
  releases: ReleaseRepository,
  from: ReleaseRow,
  baseId: string | null,
  wanted: string,
): ReleaseRow {
  const target = releases.get('localized', wanted);
  if (target === null || !isKept(target)) {
    throw new TaskError(
      'unknown_release',
      `no localized release ${wanted} is kept; see the list of releases`,
    );
  }
  if (target.base_release_id !== baseId) {
    throw new TaskError(
      'base_mismatch',
      `localized release ${wanted} was made for ${target.base_release_id ?? 'no release'}, and ${baseId ?? 'none'} is the current official one`,
    );
  }
  if (target.release_id === from.release_id) {
    throw new TaskError(
      'nothing_to_roll_back',
      `localized release ${wanted} is the one that was published last, so it cannot take its own place`,
    );
  }
  return target;
}
