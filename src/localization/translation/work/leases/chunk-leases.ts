import type { TargetsChanged } from '../../../text-events.ts';
import type { Provenance, Row } from '../store/target-rows.ts';
import { targetsChanged } from '../store/repetition-queue.ts';
import { refreshTasks } from '../store/task-counts.ts';
import type { Work } from '../store/work.ts';
import { findFreeChunk, type ClaimRequest, type OpenChunk } from './free-chunks.ts';
import { isWritten, writeResults, type StoredOutcome, type WorkerResult } from './lease-results.ts';

/** A chunk that a worker may work on until the lease expires. Every call that writes has the token; one that is not current writes nothing. */
export interface Lease extends OpenChunk {
  readonly token: string;
  readonly attempt: number;
  readonly expiresAt: number;
}

/** How the work on a chunk ended. */
export type ChunkEnd =
  | { readonly kind: 'done' }
  /** Units stay open and nobody failed: the next run takes them. */
  | { readonly kind: 'left' }
  | {
      readonly kind: 'retry';
      readonly reason: string;
      readonly nextAttemptAt: number;
      /** Whether the attempt counts. */
      readonly isCounted: boolean;
    }
  | { readonly kind: 'failed'; readonly reason: string }
  /** The attempt does not count. */
  | { readonly kind: 'cancelled' };

const SWEEP_CHUNKS = 1000;

/** For what only leases know: a power failure may lose it, and the leases expire. */
const WITHOUT_SYNC = { durable: false } as const;

/** Leases a chunk; expired leases are taken back first. `null` when there is nothing to do. */
export function claimChunk(work: Work, request: ClaimRequest): Lease | null {
  return work.database.transaction(() => {
    takeExpired(work);
    const chunk = findFreeChunk(work, request);
    const lease = chunk === null ? null : leaseChunk(work, chunk, request);
    refreshTasks(work);
    return lease;
  }, WITHOUT_SYNC);
}

function leaseChunk(work: Work, chunk: OpenChunk, request: ClaimRequest): Lease {
  const { taskSeq, number } = chunk;
  const { owner, leaseSeconds, maxAttempts } = request;
  const token = work.createId();
  const expiresAt = work.now() + leaseSeconds;
  const row = work
    .sql(
      `UPDATE chunk SET state = 'leased', lease_owner = ?, lease_token = ?, lease_expires_at = ?,
      attempt = attempt + 1 WHERE task_seq = ? AND number = ? RETURNING attempt`,
    )
    .get(owner, token, expiresAt, taskSeq, number);
  work.sql('UPDATE task SET max_attempts = ? WHERE task_seq = ?').run(maxAttempts, taskSeq);
  work.touched.add(taskSeq);
  return { ...chunk, token, expiresAt, attempt: Number(row?.['attempt']) };
}

/** Takes back the leases of an owner that an earlier process left behind. Their attempts do not count. @returns how many */
export function takeBack(work: Work, owner: string): number {
  return work.database.transaction(() => {
    const rows = work
      .sql(
        `SELECT task_seq, number, attempt FROM chunk
        WHERE state = 'leased' AND lease_owner = ? AND lease_token < ?`,
      )
      .all(owner, work.firstToken);
    for (const row of rows) releaseChunk(work, row, 'idle', Math.max(0, Number(row['attempt']) - 1));
    refreshTasks(work);
    return rows.length;
  });
}

/** Extends a lease. @returns false when it was lost: the worker must stop and write nothing */
export function heartbeat(
  work: Work,
  { token, leaseSeconds }: { readonly token: string; readonly leaseSeconds: number },
): boolean {
  return work.database.transaction(() => {
    const row = liveChunk(work, token);
    if (row === undefined) return false;
    work
      .sql('UPDATE chunk SET lease_expires_at = ? WHERE task_seq = ? AND number = ?')
      .run(work.now() + leaseSeconds, ...placeOf(row));
    work.touched.add(Number(row['task_seq']));
    refreshTasks(work);
    return true;
  }, WITHOUT_SYNC);
}

/**
 * Stores results. The attempts of the chunk start again when something was written.
 *
 * @returns `isHeld` false and `event` `null` when the lease was lost and nothing was written
 */
export function storeResults(
  work: Work,
  {
    token,
    results,
    provenance,
  }: {
    readonly token: string;
    readonly results: readonly WorkerResult[];
    readonly provenance: Provenance;
  },
): {
  readonly isHeld: boolean;
  readonly outcomes: readonly StoredOutcome[];
  readonly event: TargetsChanged | null;
} {
  return work.database.transaction(() => {
    const row = liveChunk(work, token);
    if (row === undefined) return { isHeld: false, outcomes: [], event: null };
    const outcomes = writeResults(work, row, results, provenance);
    if (outcomes.some(isWritten)) {
      work.sql('UPDATE chunk SET attempt = 1 WHERE task_seq = ? AND number = ?').run(...placeOf(row));
    }
    work.touched.add(Number(row['task_seq']));
    refreshTasks(work);
    const judgedBy = results.map((result) => result.judgedBy);
    return { isHeld: true, outcomes, event: targetsChanged(work, { judgedBy, isOfRun: true }) };
  });
}

/** Ends a lease. @returns false when it was lost */
export function endLease(
  work: Work,
  { token, outcome }: { readonly token: string; readonly outcome: ChunkEnd },
): boolean {
  return work.database.transaction(() => {
    const row = liveChunk(work, token);
    if (row === undefined) return false;
    const attempt = Number(row['attempt']);
    switch (outcome.kind) {
      case 'done':
        // With open units it stays free: people held these units, and may release them.
        releaseChunk(work, row, Number(row['open_units']) > 0 ? 'idle' : 'succeeded', 0);
        break;
      case 'left':
        releaseChunk(work, row, 'idle', 0);
        break;
      case 'retry':
        releaseChunk(
          work,
          row,
          'retry_wait',
          outcome.isCounted ? attempt : Math.max(0, attempt - 1),
          outcome,
        );
        break;
      case 'failed':
        releaseChunk(work, row, 'failed', attempt, outcome);
        break;
      case 'cancelled':
        releaseChunk(work, row, 'cancelled', Math.max(0, attempt - 1));
    }
    refreshTasks(work);
    return true;
  }, WITHOUT_SYNC);
}

/** Takes back the leases that have expired. The attempts of those of an earlier process do not count. @returns how many */
export function sweepLeases(work: Work): number {
  return work.database.transaction(() => {
    const swept = takeExpired(work);
    refreshTasks(work);
    return swept;
  }, WITHOUT_SYNC);
}

/** Makes the failed chunks of a task, or of all tasks, free again, and opens the tasks that someone called failed. @returns how many chunks */
export function reopenChunks(work: Work, taskId: string | null): number {
  return work.database.transaction(() => {
    const rows = work
      .sql(
        `SELECT task_seq, number FROM chunk JOIN task USING (task_seq)
        WHERE state = 'failed' AND is_visible = 1 AND stored_status IS NOT 'superseded' AND coalesce(task_id = ?, 1)`,
      )
      .all(taskId);
    for (const row of rows) releaseChunk(work, row, 'idle', 0);
    const reopened = work
      .sql(
        `UPDATE task SET stored_status = NULL, failure_reason = NULL
        WHERE is_visible = 1 AND stored_status = 'failed' AND coalesce(task_id = ?, 1) RETURNING task_seq`,
      )
      .all(taskId);
    for (const row of reopened) work.touched.add(Number(row['task_seq']));
    refreshTasks(work);
    return rows.length;
  });
}

function liveChunk(work: Work, token: string): Row | undefined {
  return work
    .sql(
      `SELECT chunk.* FROM chunk JOIN task USING (task_seq)
      WHERE lease_token = ? AND state = 'leased' AND chunk.lease_expires_at > ? AND stored_status IS NOT 'superseded'`,
    )
    .get(token, work.now());
}

function placeOf(row: Row): readonly [number, number] {
  return [Number(row['task_seq']), Number(row['number'])];
}

function releaseChunk(
  work: Work,
  row: Row,
  state: string,
  attempts: number,
  { reason, nextAttemptAt = 0 }: { readonly reason?: string; readonly nextAttemptAt?: number } = {},
): void {
  work
    .sql(
      `UPDATE chunk SET state = ?, attempt = ?, next_attempt_at = ?, failure_reason = ?,
      lease_owner = NULL, lease_token = NULL, lease_expires_at = NULL WHERE task_seq = ? AND number = ?`,
    )
    .run(state, attempts, nextAttemptAt, reason ?? null, ...placeOf(row));
  work.touched.add(Number(row['task_seq']));
}

function takeExpired(work: Work): number {
  const rows = work
    .sql(
      `SELECT chunk.task_seq, number, lease_token, chunk.attempt, max_attempts FROM chunk
      JOIN task USING (task_seq) WHERE state = 'leased' AND chunk.lease_expires_at <= ?
      ORDER BY chunk.lease_expires_at LIMIT ${SWEEP_CHUNKS}`,
    )
    .all(work.now());
  for (const row of rows) {
    const attempt = Number(row['attempt']);
    // The process ended, not the work: another attempt may succeed.
    const isOrphaned = String(row['lease_token']) < work.firstToken;
    if (isOrphaned) releaseChunk(work, row, 'idle', Math.max(0, attempt - 1));
    else if (attempt < Number(row['max_attempts'])) releaseChunk(work, row, 'idle', attempt);
    else releaseChunk(work, row, 'failed', attempt, { reason: 'lease_expired' });
  }
  return rows.length;
}
