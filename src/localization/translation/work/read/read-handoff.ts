import type { ReportBodyOf } from '../../../../contract/reports/reports.ts';
import { createFileTest, type GlobLists } from '../../../../platform/config/glob-filter.ts';
import { buildInState } from '../store/builds.ts';
import { TASK_TAKES_TARGETS } from '../store/task-counts.ts';
import type { Row } from '../store/target-rows.ts';
import type { Work } from '../store/work.ts';
import { LISTED_TEXT_MAX, countHeld, listHeld, listReturned } from './held-units.ts';
import { cutText } from '../../../../domain/text/cut-text.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import { blockingFindings } from '../store/accepted-findings.ts';
import { getTarget } from '../store/target-store.ts';

type HandoffBody = ReportBodyOf<'translation.handoff'>;
type HandoffRelease = HandoffBody['releases'][number];
type ReadyTask = HandoffRelease['ready'][number];

const MAX_LISTED = 100;

// The current release is the newest, and has the oldest build.
const COUNTS = `SELECT release_id, status, count(*) AS tasks, max(iif(build.state = 'current', ${Number.MAX_SAFE_INTEGER}, build_id)) AS newest
  FROM task JOIN build USING (build_id) WHERE is_visible = 1 AND task.target_language = ?
  GROUP BY release_id, status ORDER BY newest DESC, status`;

/**
 * Reads what can be handed to translators.
 *
 * @param files the files that a localized release has; blocked units of other files are last
 */
export function handoff(work: Work, files: GlobLists): Omit<HandoffBody, 'open_conflicts'> {
  const build = buildInState(work, 'current');
  const releases = new Map<string, Record<string, number>>();
  for (const row of work.sql(COUNTS).all(work.targetLanguage)) {
    const releaseId = String(row['release_id']);
    const release = releases.get(releaseId) ?? {};
    releases.set(releaseId, release);
    release[String(row['status'])] = Number(row['tasks']);
  }
  return {
    releases: [...releases].map(([releaseId, counts]) => ({
      release_id: releaseId,
      counts,
      ...(build?.['release_id'] === releaseId ? workOf(work, Number(build['build_id']), files) : NOTHING),
    })),
    last_export: lastExport(work),
  };
}

/** The newest file for translators; `null` before the first. */
function lastExport(work: Work): HandoffBody['last_export'] {
  const row = work
    .sql('SELECT * FROM handoff_export WHERE target_language = ? ORDER BY entry DESC LIMIT 1')
    .get(work.targetLanguage);
  if (row === undefined) return null;
  return {
    release_id: String(row['release_id']),
    file: String(row['file']),
    sha256: String(row['sha256']),
    units: Number(row['units']),
    created_at: Number(row['created_at']),
  };
}

type ReleaseWork = Omit<HandoffRelease, 'release_id' | 'counts'>;

/** The work of an earlier release: none, because it continues in the tasks of the current one. */
const NOTHING: ReleaseWork = {
  ready_total: { tasks: 0, units: 0 },
  ready: [],
  blocked_total: 0,
  blocked: [],
  held_total: 0,
  held: [],
  returned_total: 0,
  returned: [],
};

// Tasks that have units to translate and that no worker has leased.
const IS_READY = `build_id = ? AND untranslated + stale > 0 AND worker_status <> 'leased'
  AND ${TASK_TAKES_TARGETS}`;
const READY_TOTAL = `SELECT count(*) AS tasks, coalesce(sum(untranslated + stale), 0) AS units
  FROM task WHERE ${IS_READY}`;
const READY = `SELECT task_id, destination, archive_entry, untranslated + stale AS units,
  status, reason, failure_reason FROM task WHERE ${IS_READY} ORDER BY task_seq LIMIT ${MAX_LISTED}`;
const BLOCKED_TOTAL = 'SELECT coalesce(sum(blocked), 0) AS units FROM task WHERE build_id = ?';

function workOf(work: Work, buildId: number, files: GlobLists): ReleaseWork {
  const returned = listReturned(work, buildId);
  const sums = work.sql(READY_TOTAL).get(buildId) ?? {};
  return {
    ready_total: { tasks: Number(sums['tasks'] ?? 0), units: Number(sums['units'] ?? 0) },
    ready: work.sql(READY).all(buildId).map(readyTask),
    blocked_total: Number(work.sql(BLOCKED_TOTAL).get(buildId)?.['units'] ?? 0),
    blocked: listBlocked(work, buildId, files),
    held_total: countHeld(work, buildId),
    held: listHeld(work, buildId),
    returned_total: returned.total,
    returned: returned.units,
  };
}

function readyTask(row: Row): ReadyTask {
  return {
    task_id: String(row['task_id']),
    destination: String(row['destination']),
    archive_entry: row['archive_entry'] as string | null,
    units: Number(row['units']),
    status: row['status'] as ReadyTask['status'],
    reason: row['reason'] as string | null,
    failure_reason: row['failure_reason'] as string | null,
  };
}

type BlockedUnit = ReportBodyOf<'translation.handoff'>['releases'][number]['blocked'][number];

const BLOCKED_LISTED_MAX = 100;

// The join begins with the blocked units, because most tasks have none.
const BLOCKED = `SELECT unit_id, task_id, destination, stored_status
  FROM target INDEXED BY target_blocked CROSS JOIN task_unit USING (unit_id) JOIN task USING (task_seq)
  WHERE target.state = 'blocked' AND target.target_language = ? AND build_id = ?`;

/**
 * Lists the blocked units of a build: first those that prevent a publication, then those that no publication has, at most
 * {@link BLOCKED_LISTED_MAX} together.
 *
 * @param files the files that a localized release has
 */
function listBlocked(work: Work, buildId: number, files: GlobLists): BlockedUnit[] {
  const isPublished = createFileTest(files);
  const blocking: Row[] = [];
  const leftOut: Row[] = [];
  for (const row of work.sql(BLOCKED).iterate(work.targetLanguage, buildId)) {
    const prevents = row['stored_status'] !== 'skipped' && isPublished(String(row['destination']));
    if (prevents) blocking.push(row);
    else if (leftOut.length < BLOCKED_LISTED_MAX) leftOut.push(row);
    if (blocking.length === BLOCKED_LISTED_MAX) break;
  }
  const listed = [...blocking, ...leftOut].slice(0, BLOCKED_LISTED_MAX);
  return listed.flatMap((row) => blockedUnit(work, row) ?? []);
}

function blockedUnit(work: Work, row: Row): BlockedUnit | null {
  const target = getTarget(work, row['unit_id'] as Uint8Array);
  if (target === null) return null;
  const checks = blockingFindings(work, target).map(({ check }) => check);
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
