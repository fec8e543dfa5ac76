import { OPEN_STATUSES, taskStatus, type StoredStatus } from '../../../../domain/translation/task-status.ts';
import { UNIT_STATES, isOpen, noUnits, type UnitState } from '../../../../domain/translation/unit-state.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import type { Row } from './target-rows.ts';

/** Most units of one chunk. */
export const CHUNK_UNITS = 200;

/**
 * Keeps what tasks and chunks say about their units. The counts change with every unit. The status of a task is written once, by
 * `refresh`, at the end of a transaction.
 */
export interface TaskCounts {
  /** Records that a unit went from one state to another, in every task that has it. */
  move(unitId: Uint8Array, from: UnitState, to: UnitState): void;
  /** The same for many units, with one change of each task and chunk. */
  moveAll(moves: readonly UnitMove[]): void;
  /** Records that a task has another status or another lease. */
  touch(taskSeq: number): void;
  /** Writes the status of the tasks that changed. */
  refresh(now: number): void;
  /** Forgets the changes of a transaction that was rolled back. */
  discard(): void;
}

/** A unit that went from one state to another. */
export interface UnitMove {
  readonly unitId: Uint8Array;
  readonly from: UnitState;
  readonly to: UnitState;
}

interface LeaseSummary {
  readonly leased: number;
  readonly waiting: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly succeeded: number;
  /** Chunks that a worker may still take. */
  readonly idle: number;
  readonly attempt: number;
  readonly expiresAt: number | null;
  readonly nextAttemptAt: number | null;
  readonly owner: string | null;
  readonly failureReason: string | null;
}

/** Creates the counts of the tasks of one target language. */
export function createTaskCounts(database: Database, targetLanguage: string): TaskCounts {
  const places = database.prepare(`SELECT task_seq, number FROM task_unit JOIN task USING (task_seq)
    WHERE unit_id = ? AND target_language = ? AND stored_status IS NOT 'superseded'`);
  const counts = new Map(
    UNIT_STATES.map((state) => [
      state,
      database.prepare(`UPDATE task SET ${state} = ${state} + ? WHERE task_seq = ?`),
    ]),
  );
  const openUnits = database.prepare(
    'UPDATE chunk SET open_units = open_units + ? WHERE task_seq = ? AND number = ?',
  );
  const reopen = database.prepare(
    `UPDATE chunk SET state = 'idle', attempt = 0 WHERE task_seq = ? AND number = ? AND state = 'succeeded'`,
  );
  const refreshTask = createRefresh(database);
  const touched = new Set<number>();
  const moveAll = (moves: readonly UnitMove[]): void => {
    const inTasks = createSums<UnitState>();
    const inChunks = createSums<number>();
    for (const { unitId, from, to } of moves) {
      for (const row of places.all(unitId, targetLanguage)) {
        const taskSeq = Number(row['task_seq']);
        touched.add(taskSeq);
        inTasks.add(taskSeq, from, -1);
        inTasks.add(taskSeq, to, 1);
        const chunk = Math.floor(Number(row['number']) / CHUNK_UNITS);
        inChunks.add(taskSeq, chunk, Number(isOpen(to)) - Number(isOpen(from)));
      }
    }
    for (const { taskSeq, key: state, sum } of inTasks.all()) counts.get(state)?.run(sum, taskSeq);
    for (const { taskSeq, key: chunk, sum } of inChunks.all()) {
      openUnits.run(sum, taskSeq, chunk);
      if (sum > 0) reopen.run(taskSeq, chunk);
    }
  };
  return {
    move: (unitId, from, to) => {
      moveAll([{ unitId, from, to }]);
    },
    moveAll,
    touch: (taskSeq) => {
      touched.add(taskSeq);
    },
    refresh: (now) => {
      for (const taskSeq of touched) refreshTask(taskSeq, now);
      touched.clear();
    },
    discard: () => {
      touched.clear();
    },
  };
}

interface Sum<Key> {
  readonly taskSeq: number;
  readonly key: Key;
  sum: number;
}

/** Sums of changes by task and key; those that are 0 are left out. */
function createSums<Key>(): {
  readonly add: (taskSeq: number, key: Key, change: number) => void;
  readonly all: () => readonly Sum<Key>[];
} {
  const tasks = new Map<number, Map<Key, Sum<Key>>>();
  return {
    add: (taskSeq, key, change) => {
      const sums = tasks.get(taskSeq) ?? new Map<Key, Sum<Key>>();
      tasks.set(taskSeq, sums);
      const entry = sums.get(key) ?? { taskSeq, key, sum: 0 };
      sums.set(key, entry);
      entry.sum += change;
    },
    all: () => [...tasks.values()].flatMap((sums) => [...sums.values()].filter(({ sum }) => sum !== 0)),
  };
}

function createRefresh(database: Database): (taskSeq: number, now: number) => void {
  const task = database.prepare('SELECT * FROM task WHERE task_seq = ?');
  const leases = database.prepare(`SELECT
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
    FROM chunk WHERE task_seq = ?`);
  const owner = database.prepare(`SELECT lease_owner FROM chunk WHERE task_seq = ? AND state = 'leased'
    ORDER BY lease_expires_at, number LIMIT 1`);
  const update = database.prepare(`UPDATE task SET status = :status,
    worker_status = :worker_status, attempt = :attempt, lease_owner = :owner, lease_expires_at = :expires_at,
    next_attempt_at = :next_attempt_at, failure_reason = :failure_reason, updated_at = :now WHERE task_seq = :task_seq`);
  return (taskSeq, now) => {
    const row = task.get(taskSeq);
    if (row === undefined) return;
    const summary = summaryOf(leases.get(taskSeq) ?? {}, owner.get(taskSeq)?.['lease_owner'] ?? null);
    const units = noUnits();
    for (const state of UNIT_STATES) units[state] = Number(row[state]);
    const stored = row['stored_status'] as StoredStatus | null;
    const isEnded = stored === 'superseded';
    update.run({
      task_seq: taskSeq,
      now,
      status: taskStatus({ stored, units, isLeased: summary.leased > 0, isGivenUp: isGivenUp(summary) }),
      worker_status: isEnded ? 'idle' : workerStatus(summary, units.blocked > 0),
      attempt: summary.attempt,
      owner: summary.owner,
      expires_at: summary.expiresAt,
      next_attempt_at: summary.nextAttemptAt,
      failure_reason:
        stored === 'failed' ? (row['failure_reason'] ?? summary.failureReason) : summary.failureReason,
    });
  };
}

function summaryOf(row: Row, owner: unknown): LeaseSummary {
  const numberOf = (name: string): number => Number(row[name] ?? 0);
  const numberOrNull = (name: string): number | null => (typeof row[name] === 'number' ? row[name] : null);
  return {
    leased: numberOf('leased'),
    waiting: numberOf('waiting'),
    failed: numberOf('failed'),
    cancelled: numberOf('cancelled'),
    succeeded: numberOf('succeeded'),
    idle: numberOf('idle'),
    attempt: numberOf('attempt'),
    expiresAt: numberOrNull('expires_at'),
    nextAttemptAt: numberOrNull('next_attempt_at'),
    owner: typeof owner === 'string' ? owner : null,
    failureReason: typeof row['failure_reason'] === 'string' ? row['failure_reason'] : null,
  };
}

/** Whether nothing of a task succeeded and no part of it can be retried. */
function isGivenUp({ failed, leased, waiting, idle, succeeded }: LeaseSummary): boolean {
  return failed > 0 && leased + waiting + idle + succeeded === 0;
}

function workerStatus(summary: LeaseSummary, hasBlockedUnit: boolean): string {
  if (summary.leased > 0) return 'leased';
  if (summary.waiting > 0) return 'retry_wait';
  if (summary.failed > 0) return 'failed';
  if (summary.succeeded > 0) return hasBlockedUnit ? 'blocked' : 'succeeded';
  return summary.cancelled > 0 ? 'cancelled' : 'idle';
}

/** The SQL condition that workers may take chunks of a task: nobody has set a status that stays. */
export const TASK_IS_OPEN = `(stored_status IS NULL OR stored_status IN (${OPEN_STATUSES.map((status) => `'${status}'`).join(', ')}))`;

/** The SQL condition that a task takes targets of people and repetitions. A failed one does, although workers leave it alone. */
export const TASK_TAKES_TARGETS = `(${TASK_IS_OPEN} OR stored_status = 'failed')`;
