import type { ReportBodyOf } from '../../../../contract/reports/reports.ts';
import { cutText } from '../../../../domain/text/cut-text.ts';
import { createFileTest, type GlobLists } from '../../../../platform/config/glob-filter.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import { blockingFindings } from '../store/accepted-findings.ts';
import type { Row } from '../store/target-rows.ts';
import { getTarget } from '../store/target-store.ts';
import type { Work } from '../store/work.ts';
import { LISTED_TEXT_MAX } from './held-units.ts';

/** A blocked unit of `translation.handoff`. */
type BlockedUnit = ReportBodyOf<'translation.handoff'>['releases'][number]['blocked'][number];

/** Most units that a release lists. */
const MAX_LISTED = 100;

// The join begins with the blocked units, because most tasks have none.
const BLOCKED = `SELECT unit_id, task_id, destination, stored_status
  FROM target INDEXED BY target_blocked CROSS JOIN task_unit USING (unit_id) JOIN task USING (task_seq)
  WHERE target.state = 'blocked' AND target.target_language = ? AND build_id = ?`;

/**
 * Lists the blocked units of a build: first those that prevent a publication, then those that no publication has, at most
 * {@link MAX_LISTED} together.
 *
 * @param files the files that a localized release has
 */
export function listBlocked(work: Work, buildId: number, files: GlobLists): BlockedUnit[] {
  const isPublished = createFileTest(files);
  const blocking: Row[] = [];
  const leftOut: Row[] = [];
  for (const row of work.sql(BLOCKED).iterate(work.targetLanguage, buildId)) {
    const prevents = row['stored_status'] !== 'skipped' && isPublished(String(row['destination']));
    if (prevents) blocking.push(row);
    else if (leftOut.length < MAX_LISTED) leftOut.push(row);
    if (blocking.length === MAX_LISTED) break;
  }
  const listed = [...blocking, ...leftOut].slice(0, MAX_LISTED);
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
