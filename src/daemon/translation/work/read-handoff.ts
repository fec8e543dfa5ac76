import type { ReportBodyOf } from '../../../contract/reports/reports.ts';
import { cutText } from '../../../domain/text/cut-text.ts';
import type { Database } from '../../database/sqlite-database.ts';
import { unitIdText } from '../../parse/index/unit-id-text.ts';
import { createAcceptedFindings, type AcceptedFindings } from './accepted-findings.ts';
import { createHeldUnits, LISTED_TEXT_MAX } from './held-units.ts';
import type { HandoffExports } from './handoff-exports.ts';
import { TASK_TAKES_TARGETS } from './open-tasks.ts';
import { targetOf, type Row } from './target-rows.ts';

type HandoffBody = ReportBodyOf<'translation.handoff'>;
type HandoffRelease = HandoffBody['releases'][number];

/** The part of `translation.handoff` that translation.db knows. */
export type Handoff = Omit<HandoffBody, 'open_conflicts'>;

/** Most tasks and most units that a release lists. */
const MAX_LISTED = 100;

export interface HandoffOptions {
  readonly database: Database;
  readonly targetLanguage: string;
  readonly exports: Pick<HandoffExports, 'last'>;
}

/** Creates the function that reads what can be handed to translators. */
export function createHandoffReader({ database, targetLanguage, exports }: HandoffOptions): () => Handoff {
  const current = database.prepare(
    `SELECT build_id, release_id FROM build WHERE target_language = ? AND state = 'current'`,
  );
  const counts =
    database.prepare(`SELECT release_id, status, count(*) AS tasks, max(build_id) AS newest FROM task
    WHERE is_visible = 1 AND target_language = ? GROUP BY release_id, status ORDER BY newest DESC, status`);
  const readReady = createReadyReader(database);
  const readBlocked = createBlockedReader(database, targetLanguage);
  const held = createHeldUnits(database, targetLanguage);
  const workOf = (buildId: number): Work => ({
    ...readReady(buildId),
    ...readBlocked(buildId),
    held_total: held.count(buildId),
    held: [...held.list(buildId)],
  });
  return () => {
    const build = current.get(targetLanguage);
    const releases = new Map<string, Record<string, number>>();
    for (const row of counts.iterate(targetLanguage)) {
      const releaseId = String(row['release_id']);
      const release = releases.get(releaseId) ?? {};
      releases.set(releaseId, release);
      release[String(row['status'])] = Number(row['tasks']);
    }
    const last = exports.last();
    return {
      releases: [...releases].map(([releaseId, byStatus]) => ({
        release_id: releaseId,
        counts: byStatus,
        ...(build?.['release_id'] === releaseId ? workOf(Number(build['build_id'])) : NOTHING),
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

/** The work in the tasks of a release. */
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

/** Reads the blocked units. The join begins with them, because most tasks have none. */
function createBlockedReader(
  database: Database,
  targetLanguage: string,
): (buildId: number) => Pick<HandoffRelease, 'blocked' | 'blocked_total'> {
  const total = database.prepare('SELECT coalesce(sum(blocked), 0) AS units FROM task WHERE build_id = ?');
  const units = database.prepare(`SELECT target.*, task_id, destination, stored_status FROM target
    CROSS JOIN task_unit USING (unit_id) JOIN task USING (task_seq)
    WHERE target.state = 'blocked' AND target.target_language = ? AND build_id = ? LIMIT ${MAX_LISTED}`);
  const accepted = createAcceptedFindings(database, targetLanguage);
  return (buildId) => ({
    blocked_total: Number(total.get(buildId)?.['units'] ?? 0),
    blocked: units.all(targetLanguage, buildId).map((row) => blockedUnit(row, accepted)),
  });
}

function blockedUnit(row: Row, accepted: AcceptedFindings): HandoffRelease['blocked'][number] {
  const target = targetOf(row);
  const checks = accepted.blocking(target).map(({ check }) => check);
  return {
    task_id: String(row['task_id']),
    unit_id: unitIdText(target.unitId),
    destination: String(row['destination']),
    source_text: cutText(target.sourceText, LISTED_TEXT_MAX).text,
    left_out: row['stored_status'] === 'skipped' ? 'skipped_task' : null,
    codes: [...new Set(checks)],
    qa_identity: target.qaIdentity,
  };
}
