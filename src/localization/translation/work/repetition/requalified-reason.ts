import { countText } from '../../../../domain/count-text.ts';
import type { Finding } from '../store/target-rows.ts';
import type { Work } from '../store/work.ts';

const PREFIX = 'requalified: ';
/** Blocked units whose checks the reason names. */
const READ_UNITS = 100;
const NAMED_UNITS = 3;

// In this order, because most targets of a language belong to other tasks.
const BLOCKED = `FROM task_unit CROSS JOIN target INDEXED BY target_blocked ON target.unit_id = task_unit.unit_id
  AND target_language = ? WHERE task_seq = ? AND state = 'blocked' AND state_before IS NOT NULL`;
const COUNT = `SELECT count(*) AS count ${BLOCKED}`;
const FIRST = `SELECT findings, qa_identity ${BLOCKED} ORDER BY number LIMIT ${READ_UNITS}`;

/**
 * Writes why a task is blocked although its targets were good when they were stored, or removes the reason. One that a person gave
 * stays while nothing new blocks the task.
 *
 * @returns whether it changed
 */
export function writeReason(work: Work, taskSeq: number): boolean {
  const blocked = Number(work.sql(COUNT).get(work.targetLanguage, taskSeq)?.['count'] ?? 0);
  if (blocked === 0) {
    const clear = `UPDATE task SET reason = NULL WHERE task_seq = ? AND reason LIKE '${PREFIX}%'`;
    return Number(work.sql(clear).run(taskSeq).changes) > 0;
  }
  const rows = work.sql(FIRST).all(work.targetLanguage, taskSeq);
  const errors = rows
    .flatMap(({ findings }) => JSON.parse(String(findings)) as Finding[])
    .filter(({ severity }) => severity === 'error');
  const checks = [...new Set(errors.map(({ check }) => check))].sort().join(', ');
  const identities = rows.flatMap(({ qa_identity: identity }) => identity ?? []).slice(0, NAMED_UNITS);
  const reason = `${PREFIX}a change of the Glossary or the rules blocks ${countText(blocked, 'unit')} with ${checks} (${identities.join(', ')})`;
  const set = 'UPDATE task SET reason = ?1 WHERE task_seq = ?2 AND reason IS NOT ?1';
  return Number(work.sql(set).run(reason, taskSeq).changes) > 0;
}
