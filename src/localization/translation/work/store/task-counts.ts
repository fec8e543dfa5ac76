import { OPEN_STATUSES, taskStatus, type StoredStatus } from '../../../../domain/translation/task-status.ts';
import { UNIT_STATES, isOpen, noUnits, type UnitState } from '../../../../domain/translation/unit-state.ts';
import type { Row } from './target-rows.ts';
import type { Work } from './work.ts';

/** Most units of one chunk. */
export const CHUNK_UNITS = 200;

/** The SQL condition that workers may take chunks of a task: nobody has set a status that stays. */
export const TASK_IS_OPEN = `(stored_status IS NULL OR stored_status IN (${OPEN_STATUSES.map((status) => `'${status}'`).join(', ')}))`;

/** The SQL condition that a task takes targets of people and repetitions. A failed one does, although workers leave it alone. */
export const TASK_TAKES_TARGETS = `(${TASK_IS_OPEN} OR stored_status = 'failed')`;

/** A unit that went from one state to another. */
export interface UnitMove {
  readonly unitId: Uint8Array;
  readonly from: UnitState;
  readonly to: UnitState;
}

const PLACES = `SELECT task_seq, number FROM task_unit JOIN task USING (task_seq)
  WHERE unit_id = ? AND target_language = ? AND stored_status IS NOT 'superseded'`;
const COUNT_OPEN = 'UPDATE chunk SET open_units = open_units + ? WHERE task_seq = ? AND number = ?';
const REOPEN = `UPDATE chunk SET state = 'idle', attempt = 0
  WHERE task_seq = ? AND number = ? AND state = 'succeeded'`;

/** Counts units that went from one state to another, in every task and chunk that has them. */
export function moveUnits(work: Work, moves: readonly UnitMove[]): void {
  const inTasks = new Map<number, Map<UnitState, number>>();
  const inChunks = new Map<number, Map<number, number>>();
  for (const { unitId, from, to } of moves) {
    for (const row of work.sql(PLACES).all(unitId, work.targetLanguage)) {
      const taskSeq = Number(row['task_seq']);
      work.touched.add(taskSeq);
      addTo(inTasks, taskSeq, from, -1);
      addTo(inTasks, taskSeq, to, 1);
      const chunk = Math.floor(Number(row['number']) / CHUNK_UNITS);
      addTo(inChunks, taskSeq, chunk, Number(isOpen(to)) - Number(isOpen(from)));
    }
  }
  for (const [taskSeq, sums] of inTasks) {
    for (const [state, sum] of sums) {
      if (sum === 0) continue;
      work.sql(`UPDATE task SET ${state} = ${state} + ? WHERE task_seq = ?`).run(sum, taskSeq);
    }
  }
  for (const [taskSeq, sums] of inChunks) {
    for (const [chunk, sum] of sums) {
      if (sum !== 0) work.sql(COUNT_OPEN).run(sum, taskSeq, chunk);
      if (sum > 0) work.sql(REOPEN).run(taskSeq, chunk);
    }
  }
}

function addTo<Key>(sums: Map<number, Map<Key, number>>, taskSeq: number, key: Key, change: number): void {
  const own = sums.get(taskSeq) ?? new Map<Key, number>();
  sums.set(taskSeq, own.set(key, (own.get(key) ?? 0) + change));
}

/** The row of a task, with its release: the current one, or the last one that it was part of. */
export function taskRow(work: Work, taskSeq: number): Row | undefined {
  return work.sql('SELECT * FROM task_of_release WHERE task_seq = ?').get(taskSeq);
}

/** Writes the status of the tasks that changed. */
export function refreshTasks(work: Work): void {
  for (const taskSeq of work.touched) refreshTask(work, taskSeq);
  work.touched.clear();
}

const LEASES = `SELECT
  count(*) FILTER (WHERE state = 'leased') AS leased,
  count(*) FILTER (WHERE state = 'retry_wait') AS waiting,
  count(*) FILTER (WHERE state = 'failed' AND open_units > 0) AS failed,
  count(*) FILTER (WHERE state = 'cancelled') AS cancelled,
  count(*) FILTER (WHERE state = 'succeeded') AS succeeded,
  count(*) FILTER (WHERE state IN ('idle', 'cancelled') AND open_units > 0) AS idle,
  max(attempt) AS attempt,
  min(lease_expires_at) FILTER (WHERE state = 'leased') AS expires_at,
  min(next_attempt_at) FILTER (WHERE state = 'retry_wait') AS next_attempt_at,
  max(failure_reason) FILTER (WHERE state IN ('failed', 'retry_wait') AND open_units > 0) AS failure_reason
  FROM chunk WHERE task_seq = ?`;
const LEASE_OWNER = `SELECT lease_owner FROM chunk WHERE task_seq = ? AND state = 'leased'
  ORDER BY lease_expires_at, number LIMIT 1`;
const WRITE_STATUS = `UPDATE task SET status = :status,
  worker_status = :worker_status, attempt = :attempt, lease_owner = :owner, lease_expires_at = :expires_at,
  next_attempt_at = :next_attempt_at, failure_reason = :failure_reason, updated_at = :now WHERE task_seq = :task_seq`;

function refreshTask(work: Work, taskSeq: number): void {
  const row = taskRow(work, taskSeq);
  if (row === undefined) return;
  const leases = work.sql(LEASES).get(taskSeq) ?? {};
  const units = noUnits();
  for (const state of UNIT_STATES) units[state] = Number(row[state]);
  const stored = row['stored_status'] as StoredStatus | null;
  const isLeased = Number(leases['leased']) > 0;
  const failureReason = leases['failure_reason'] ?? null;
  work.sql(WRITE_STATUS).run({
    task_seq: taskSeq,
    now: work.now(),
    status: taskStatus({ stored, units, isLeased, isGivenUp: isGivenUp(leases) }),
    worker_status: stored === 'superseded' ? 'idle' : workerStatus(leases, units.blocked > 0),
    attempt: Number(leases['attempt'] ?? 0),
    owner: work.sql(LEASE_OWNER).get(taskSeq)?.['lease_owner'] ?? null,
    expires_at: leases['expires_at'] ?? null,
    next_attempt_at: leases['next_attempt_at'] ?? null,
    failure_reason: stored === 'failed' ? (row['failure_reason'] ?? failureReason) : failureReason,
  });
}

/** Whether nothing of a task succeeded and no part of it can be retried. */
function isGivenUp({ failed, leased, waiting, idle, succeeded }: Row): boolean {
  const others = [leased, waiting, idle, succeeded];
  return Number(failed) > 0 && others.every((count) => Number(count) === 0);
}

function workerStatus(
  { leased, waiting, failed, succeeded, cancelled }: Row,
  hasBlockedUnit: boolean,
): string {
  if (Number(leased) > 0) return 'leased';
  if (Number(waiting) > 0) return 'retry_wait';
  if (Number(failed) > 0) return 'failed';
  if (Number(succeeded) > 0) return hasBlockedUnit ? 'blocked' : 'succeeded';
  return Number(cancelled) > 0 ? 'cancelled' : 'idle';
}
