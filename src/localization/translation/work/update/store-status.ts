import { countText } from '../../../../domain/count-text.ts';
import type { Row } from '../store/target-rows.ts';
import { setTargetState } from '../store/target-store.ts';
import { taskRow } from '../store/task-counts.ts';
import {
  NAMED_UNITS,
  UpdateRefused,
  blockedDetail,
  nameBlocked,
  refuse,
  type TaskUpdate,
} from '../store/task-update.ts';
import type { Work } from '../store/work.ts';

const BLOCKED_UNITS = `SELECT unit_id, qa_identity FROM task_unit JOIN target USING (unit_id)
  WHERE task_seq = ? AND target_language = ? AND state = 'blocked' ORDER BY number LIMIT ${NAMED_UNITS}`;
const DRAFTS = `SELECT unit_id FROM task_unit JOIN target USING (unit_id)
  WHERE task_seq = ? AND target_language = ? AND state = 'draft' ORDER BY number`;
const WRITE_STATUS = `UPDATE task SET stored_status = :stored, reason = iif(:keeps_reason, coalesce(:reason, reason), :reason),
  failure_reason = iif(:keeps_reason, coalesce(:failure_reason, failure_reason), :failure_reason), provider = coalesce(:provider, provider),
  provider_run_id = coalesce(:provider_run_id, provider_run_id) WHERE task_seq = :task_seq`;
const END_LEASES = `UPDATE chunk SET state = 'cancelled', lease_owner = NULL, lease_token = NULL,
  lease_expires_at = NULL WHERE task_seq = ? AND state = 'leased'`;
const REOPEN = `UPDATE chunk SET state = 'idle', attempt = 0, failure_reason = NULL
  WHERE task_seq = ? AND state IN ('failed', 'retry_wait', 'succeeded')`;

/** Stores the status of an update, after its results. @throws UpdateRefused for a status that is not possible */
export function writeStatus(work: Work, task: Row, update: TaskUpdate): void {
  const { status, results, reason, failureReason, provider, providerRunId } = update;
  const taskSeq = Number(task['task_seq']);
  const before = task['stored_status'] as string | null;
  if (before === 'superseded') return;
  // Work on a task that was reopened, or that has failed, makes it more than that: its units decide.
  const isMoved = results.length > 0 && (before === 'pending' || before === 'failed');
  if (status === 'translated') {
    requireComplete(work, taskSeq);
    for (const row of work.sql(DRAFTS).all(taskSeq, work.targetLanguage)) {
      setTargetState(work, row['unit_id'] as Uint8Array, 'translated', null);
    }
  }
  if (status !== null && status !== 'in_progress') work.sql(END_LEASES).run(taskSeq);
  if (status === 'pending') work.sql(REOPEN).run(taskSeq);
  work.sql(WRITE_STATUS).run({
    task_seq: taskSeq,
    stored: status === 'translated' ? null : (status ?? (isMoved ? null : before)),
    keeps_reason: status === null ? 1 : 0,
    reason,
    failure_reason: failureReason,
    provider,
    provider_run_id: providerRunId,
  });
}

function requireComplete(work: Work, taskSeq: number): void {
  const { untranslated = 0, stale = 0, blocked = 0 } = taskRow(work, taskSeq) ?? {};
  if (Number(blocked) > 0) {
    const named = work
      .sql(BLOCKED_UNITS)
      .all(taskSeq, work.targetLanguage)
      .map((row) => nameBlocked(row['unit_id'] as Uint8Array, row['qa_identity'] as string | null));
    throw new UpdateRefused(refuse('qa_blocked', blockedDetail(Number(blocked), named)));
  }
  const missing = Number(untranslated) + Number(stale);
  if (missing === 0) return;
  throw new UpdateRefused(
    refuse(
      'units_missing',
      `${countText(missing, 'unit of the task has', 'units of the task have')} no target for the present text; send these first, or send in_progress`,
    ),
  );
}
