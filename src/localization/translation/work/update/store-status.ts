import { countText } from '../../../../domain/count-text.ts';
import type { Row } from '../store/target-rows.ts';
import type { WorkTools } from '../store/work-tools.ts';
import {
  NAMED_UNITS,
  UpdateRefused,
  blockedDetail,
  nameBlocked,
  refuse,
  type TaskUpdate,
} from '../store/task-update.ts';

/** Creates the storing of the status of an update, after its results; one that is not possible throws UpdateRefused. */
export function createStatusStore({
  database,
  targetLanguage,
  targets,
}: WorkTools): (task: Row, update: TaskUpdate, now: number) => void {
  const countsOf = database.prepare('SELECT untranslated, stale, blocked FROM task WHERE task_seq = ?');
  const blockedUnits =
    database.prepare(`SELECT unit_id, qa_identity FROM task_unit JOIN target USING (unit_id)
    WHERE task_seq = ? AND target_language = ? AND state = 'blocked' ORDER BY number LIMIT ${NAMED_UNITS}`);
  const drafts = database.prepare(`SELECT unit_id FROM task_unit JOIN target USING (unit_id)
    WHERE task_seq = ? AND target_language = ? AND state = 'draft' ORDER BY number`);
  const set =
    database.prepare(`UPDATE task SET stored_status = :stored, reason = iif(:keeps_reason, coalesce(:reason, reason), :reason),
    failure_reason = iif(:keeps_reason, coalesce(:failure_reason, failure_reason), :failure_reason), provider = coalesce(:provider, provider),
    provider_run_id = coalesce(:provider_run_id, provider_run_id) WHERE task_seq = :task_seq`);
  const endLeases =
    database.prepare(`UPDATE chunk SET state = 'cancelled', lease_owner = NULL, lease_token = NULL,
    lease_expires_at = NULL WHERE task_seq = ? AND state = 'leased'`);
  const reopen = database.prepare(
    `UPDATE chunk SET state = 'idle', attempt = 0, failure_reason = NULL WHERE task_seq = ? AND state IN ('failed', 'retry_wait', 'succeeded')`,
  );
  const requireComplete = (taskSeq: number): void => {
    const { untranslated = 0, stale = 0, blocked = 0 } = countsOf.get(taskSeq) ?? {};
    if (Number(blocked) > 0) {
      const named = blockedUnits
        .all(taskSeq, targetLanguage)
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
  };
  return (task, { status, results, reason, failureReason, provider, providerRunId }, now) => {
    const taskSeq = Number(task['task_seq']);
    const before = task['stored_status'] as string | null;
    if (before === 'superseded') return;
    // Work on a task that was reopened, or that has failed, makes it more than that: its units decide.
    const isMoved = results.length > 0 && (before === 'pending' || before === 'failed');
    if (status === 'translated') {
      requireComplete(taskSeq);
      for (const row of drafts.all(taskSeq, targetLanguage)) {
        targets.setState(row['unit_id'] as Uint8Array, 'translated', null, now);
      }
    }
    if (status !== null && status !== 'in_progress') endLeases.run(taskSeq);
    if (status === 'pending') reopen.run(taskSeq);
    set.run({
      task_seq: taskSeq,
      stored: status === 'translated' ? null : (status ?? (isMoved ? null : before)),
      keeps_reason: status === null ? 1 : 0,
      reason,
      failure_reason: failureReason,
      provider,
      provider_run_id: providerRunId,
    });
  };
}
