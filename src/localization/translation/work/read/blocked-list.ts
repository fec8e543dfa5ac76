import type { ReportBodyOf } from '../../../../contract/reports/reports.ts';
import { cutText } from '../../../../domain/text/cut-text.ts';
import { createFileTest, type GlobLists } from '../../../../platform/config/glob-filter.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import { createAcceptedFindings, type AcceptedFindings } from '../store/accepted-findings.ts';
import { LISTED_TEXT_MAX } from './held-units.ts';
import { targetOf, type Row } from '../store/target-rows.ts';

/** A blocked unit of `translation.handoff`. */
type BlockedUnit = ReportBodyOf<'translation.handoff'>['releases'][number]['blocked'][number];

/** Most units that a release lists. */
const MAX_LISTED = 100;

/**
 * Creates the list of the blocked units of a build: first those that prevent a publication, then those that no publication has,
 * at most {@link MAX_LISTED} together. The join begins with the blocked units, because most tasks have none.
 *
 * @returns a function of the build and of the files that a localized release has
 */
export function createBlockedList(
  database: Database,
  targetLanguage: string,
): (buildId: number, files: GlobLists) => BlockedUnit[] {
  const names = database.prepare(`SELECT unit_id, task_id, destination, stored_status
    FROM target INDEXED BY target_blocked CROSS JOIN task_unit USING (unit_id) JOIN task USING (task_seq)
    WHERE target.state = 'blocked' AND target.target_language = ? AND build_id = ?`);
  const target = database.prepare('SELECT * FROM target WHERE unit_id = ? AND target_language = ?');
  const accepted = createAcceptedFindings(database, targetLanguage);
  return (buildId, files) => {
    const isPublished = createFileTest(files);
    const blocking: Row[] = [];
    const leftOut: Row[] = [];
    for (const row of names.iterate(targetLanguage, buildId)) {
      const prevents = row['stored_status'] !== 'skipped' && isPublished(String(row['destination']));
      if (prevents) blocking.push(row);
      else if (leftOut.length < MAX_LISTED) leftOut.push(row);
      if (blocking.length === MAX_LISTED) break;
    }
    return [...blocking, ...leftOut].slice(0, MAX_LISTED).flatMap((row) => {
      const found = target.get(row['unit_id'] as Uint8Array, targetLanguage);
      return found === undefined ? [] : [blockedUnit({ ...found, ...row }, accepted)];
    });
  };
}

function blockedUnit(row: Row, accepted: AcceptedFindings): BlockedUnit {
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
