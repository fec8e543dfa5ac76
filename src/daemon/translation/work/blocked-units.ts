import { freedState } from '../../../domain/translation/requalify.ts';
import type { StateBefore } from '../../../domain/translation/carry-over.ts';
import type { UsableState } from '../../../domain/translation/unit-state.ts';
import type { Database } from '../../database/sqlite-database.ts';

/** Most blocked units that are looked at: a new term can block every unit of a release. */
const BLOCKED_COUNT_MAX = 10_000;

/** How many blocked units would have each state without their findings. */
export type FreedCounts = Readonly<Record<UsableState, number>>;

/**
 * Creates the count of the blocked units of a build by the state that they would have without their findings. Units on hold and
 * those of skipped tasks are left out, and what is beyond {@link BLOCKED_COUNT_MAX}.
 */
export function createBlockedUnits(
  database: Database,
  targetLanguage: string,
): (buildId: number | null, isSelected: (destination: string) => boolean) => FreedCounts {
  const blocked = database.prepare(`SELECT destination, state_before, count(*) AS units
    FROM (SELECT destination, state_before FROM target INDEXED BY target_blocked
      CROSS JOIN task_unit USING (unit_id) JOIN task USING (task_seq)
      WHERE target.state = 'blocked' AND target.target_language = :language AND build_id = :build
      AND stored_status IS NOT 'skipped' AND NOT EXISTS
        (SELECT 1 FROM hold WHERE hold.unit_id = target.unit_id AND hold.target_language = :language)
      LIMIT ${BLOCKED_COUNT_MAX}) GROUP BY 1, 2`);
  return (buildId, isSelected) => {
    const counts = { draft: 0, translated: 0, proofread: 0 };
    for (const row of blocked.iterate({ language: targetLanguage, build: buildId })) {
      if (!isSelected(String(row['destination']))) continue;
      counts[freedState(row['state_before'] as StateBefore | null, 'draft')] += Number(row['units']);
    }
    return counts;
  };
}
