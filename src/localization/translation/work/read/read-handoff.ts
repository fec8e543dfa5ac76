import type { ReportBodyOf } from '../../../../contract/reports/reports.ts';
import type { GlobLists } from '../../../../platform/config/glob-filter.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { createBlockedList } from './blocked-list.ts';
import { createHeldUnits } from './held-units.ts';
import type { HandoffExports } from './handoff-exports.ts';
import { TASK_TAKES_TARGETS } from '../store/task-counts.ts';
import type { WorkTools } from '../store/work-tools.ts';

type HandoffBody = ReportBodyOf<'translation.handoff'>;
type HandoffRelease = HandoffBody['releases'][number];

/** The part of `translation.handoff` that translation.db knows. */
export type Handoff = Omit<HandoffBody, 'open_conflicts'>;

/** Most tasks that a release lists. */
const MAX_LISTED = 100;

/**
 * Creates the function that reads what can be handed to translators.
 *
 * @returns a function of the files that a localized release has; blocked units of other files are last
 */
export function createHandoffReader(
  { database, targetLanguage }: WorkTools,
  exports: HandoffExports,
): (files: GlobLists) => Handoff {
  const current = database.prepare(
    `SELECT build_id, release_id FROM build WHERE target_language = ? AND state = 'current'`,
  );
  const counts =
    database.prepare(`SELECT release_id, status, count(*) AS tasks, max(build_id) AS newest FROM task
    WHERE is_visible = 1 AND target_language = ? GROUP BY release_id, status ORDER BY newest DESC, status`);
  const readReady = createReadyReader(database);
  const blockedTotal = database.prepare(
    'SELECT coalesce(sum(blocked), 0) AS units FROM task WHERE build_id = ?',
  );
  const listBlocked = createBlockedList(database, targetLanguage);
  const held = createHeldUnits(database, targetLanguage);
  const workOf = (buildId: number, files: GlobLists): Work => ({
    ...readReady(buildId),
    blocked_total: Number(blockedTotal.get(buildId)?.['units'] ?? 0),
    blocked: listBlocked(buildId, files),
    held_total: held.count(buildId),
    held: [...held.list(buildId)],
  });
  return (files) => {
    const build = current.get(targetLanguage);
    const releases = new Map<string, Record<string, number>>();
    for (const row of counts.iterate(targetLanguage)) {
      const releaseId = String(row['release_id']);
      const release = releases.get(releaseId) ?? {};
      releases.set(releaseId, release);
      release[String(row['status'])] = Number(row['tasks']);
    }
    const last = exports.lastExport();
    return {
      releases: [...releases].map(([releaseId, byStatus]) => ({
        release_id: releaseId,
        counts: byStatus,
        ...(build?.['release_id'] === releaseId ? workOf(Number(build['build_id']), files) : NOTHING),
      })),
      last_export:
        last === null
          ? null
          : {
              release_id: last.releaseId,
              file: last.file,
              sha256: last.sha256,
              units: last.units,
              created_at: last.createdAt,
            },
    };
  };
}

type Work = Omit<HandoffRelease, 'release_id' | 'counts'>;

/** The work of an earlier release: none, because it continues in the tasks of the current one. */
const NOTHING: Work = {
  ready_total: { tasks: 0, units: 0 },
  ready: [],
  blocked_total: 0,
  blocked: [],
  held_total: 0,
  held: [],
};

/** Reads the tasks that have units to translate and that no worker has leased. */
function createReadyReader(
  database: Database,
): (buildId: number) => Pick<HandoffRelease, 'ready' | 'ready_total'> {
  const isReady = `build_id = ? AND untranslated + stale > 0 AND worker_status <> 'leased'
    AND ${TASK_TAKES_TARGETS}`;
  const total = database.prepare(
    `SELECT count(*) AS tasks, coalesce(sum(untranslated + stale), 0) AS units FROM task WHERE ${isReady}`,
  );
  const tasks = database.prepare(`SELECT task_id, destination, archive_entry, untranslated + stale AS units,
    status, reason, failure_reason FROM task WHERE ${isReady} ORDER BY task_seq LIMIT ${MAX_LISTED}`);
  return (buildId) => {
    const sums = total.get(buildId) ?? {};
    return {
      ready_total: { tasks: Number(sums['tasks'] ?? 0), units: Number(sums['units'] ?? 0) },
      ready: tasks.all(buildId).map((row) => ({
        task_id: String(row['task_id']),
        destination: String(row['destination']),
        archive_entry: row['archive_entry'] as string | null,
        units: Number(row['units']),
        status: row['status'] as HandoffRelease['ready'][number]['status'],
        reason: row['reason'] as string | null,
        failure_reason: row['failure_reason'] as string | null,
      })),
    };
  };
}
