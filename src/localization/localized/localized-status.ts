import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import { RELEASES_MAX, type ReleaseRepository } from '../../releases/records/release-repository.ts';
import { integrityOf } from '../../releases/records/release-row.ts';
import { isStale } from '../../releases/records/retention-rules.ts';

const HISTORY_MAX = 20;

type StatusBody = ReportBodyOf<'translation.status'>;

/** Finds the rollback that took a localized release back; `null` when none did, or when it is current again. */
type FindRollback = (
  releaseId: string,
) => ReportBodyOf<'translation.status'>['history'][number]['rolled_back'];

/** The current localized release, and the latest ones that were or are current. */
export function localizedStatusOf(
  releases: ReleaseRepository,
  rollbackOf: FindRollback,
): { readonly current: StatusBody['current']; readonly history: StatusBody['history'] } {
  const current = releases.current('localized');
  const officialId = releases.pointer('official')?.release_id ?? null;
  return {
    current:
      current === null || current.snapshot_id === null || current.base_release_id === null
        ? null
        : {
            localized_release_id: current.release_id,
            base_release_id: current.base_release_id,
            snapshot_id: current.snapshot_id,
            state: current.state,
            integrity: integrityOf(current),
            published_at: current.published_at,
            stale: isStale(current, officialId),
          },
    history: historyOf(releases, rollbackOf),
  };
}

function historyOf(releases: ReleaseRepository, rollbackOf: FindRollback) {
  const published = releases
    .list('localized', RELEASES_MAX)
    .flatMap((release) =>
      release.published_at === null ? [] : [{ ...release, published_at: release.published_at }],
    );
  // A rollback makes an older release the latest again. The sort is stable: of the same second the newer release is first.
  return published
    .toSorted((one, other) => other.published_at - one.published_at)
    .slice(0, HISTORY_MAX)
    .map(({ release_id, base_release_id, state, published_at }) => ({
      localized_release_id: release_id,
      base_release_id,
      state,
      at: published_at,
      rolled_back: rollbackOf(release_id),
    }));
}
