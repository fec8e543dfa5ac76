import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import { integrityOf } from './reports.ts';
import type { ReleaseRepository } from './records/release-repository.ts';
import { isStale } from './records/retention-rules.ts';

/** Most releases in the history. */
const HISTORY_MAX = 20;

/** The part of `translation.status` about localized releases. Times are Unix seconds. */
export type LocalizedStatus = Pick<ReportBodyOf<'translation.status'>, 'current' | 'history'>;

/** The current localized release, and the latest ones that were or are current. */
export function localizedStatusOf(releases: ReleaseRepository): LocalizedStatus {
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
    history: releases
      .list('localized', HISTORY_MAX)
      .filter(({ published_at }) => published_at !== null)
      .map(({ release_id, state, published_at, created_at }) => ({
        localized_release_id: release_id,
        state,
        at: published_at ?? created_at,
      })),
  };
}
