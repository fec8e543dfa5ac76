import type { Statement } from '../../../../engine/database/checked-rows.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { createFreeChunks, type ClaimRequest, type Lease, type OpenChunk } from './free-chunks.ts';
import { createResultWriter, isWritten, type StoredOutcome, type WorkerResult } from './lease-results.ts';
import type { Provenance, Row } from '../store/target-rows.ts';
import type { TargetsChanged } from '../../../text-events.ts';
import type { WorkTools } from '../store/work-tools.ts';

/** How the work on a chunk ended. */
export type ChunkEnd =
  | { readonly kind: 'done' }
  /** Units stay open and nobody failed: the next run takes them. */
  | { readonly kind: 'left' }
  | { readonly kind: 'retry'; readonly reason: string; readonly nextAttemptAt: number }
  | { readonly kind: 'failed'; readonly reason: string }
  /** The attempt does not count. */
  | { readonly kind: 'cancelled' };

interface StoredResults {
  /** False: the lease was lost and nothing was written. */
  readonly isHeld: boolean;
  readonly outcomes: readonly StoredOutcome[];
  /** `null` when the lease was lost. */
  readonly event: TargetsChanged | null;
}

/** Leases on chunks. Every call that writes has the token of the lease, and a token that is not current writes nothing. */
export interface ChunkLeases {
  /** Leases a chunk; expired leases are taken back first. `null` when there is nothing to do. */
  claimChunk(request: ClaimRequest): Lease | null;
  /** Reads the chunk that a claim would lease, and changes nothing. */
  peekChunk(request: ClaimRequest): OpenChunk | null;
  /** Takes back the leases of an owner that an earlier process left behind. Their attempts do not count. @returns how many */
  takeBack(owner: string): number;
  /** Extends a lease. @returns false when it was lost: the worker must stop and write nothing */
  heartbeat(lease: { readonly token: string; readonly leaseSeconds: number }): boolean;
  /** Stores results. The attempts of the chunk start again when something was written. */
  storeResults(batch: {
    readonly token: string;
    readonly results: readonly WorkerResult[];
    readonly provenance: Provenance;
  }): StoredResults;
  /** Ends a lease. @returns false when it was lost */
  endLease(end: { readonly token: string; readonly outcome: ChunkEnd }): boolean;
  /** Takes back the leases that have expired. The attempts of those of an earlier process do not count. @returns how many */
  sweepLeases(): number;
  /** Makes the failed chunks of a task, or of all tasks, free again, and opens the tasks that someone called failed. @returns how many chunks */
  reopenChunks(taskId: string | null): number;
}

/** Most expired leases that one sweep takes back. */
const SWEEP_CHUNKS = 1000;

/** For what only leases know: a power failure may lose it, and the leases expire. */
const WITHOUT_SYNC = { durable: false } as const;

/** Creates the leases of one target language. Every call is one transaction. */
export function createChunkLeases(tools: WorkTools): ChunkLeases {
  const { database, counts, now } = tools;
  const tokens = createTokens(tools.createId);
  const sweep = createSweep(tools, tokens.first);
  const free = createFreeChunks(tools, tokens.next);
  const takeBack = createTakeBack(tools, tokens.first);
  const live = database.prepare(`SELECT chunk.* FROM chunk JOIN task USING (task_seq)
    WHERE lease_token = ? AND state = 'leased' AND chunk.lease_expires_at > ? AND stored_status IS NOT 'superseded'`);
  const extend = database.prepare('UPDATE chunk SET lease_expires_at = ? WHERE task_seq = ? AND number = ?');
  const release = prepareRelease(database);
  const progress = database.prepare('UPDATE chunk SET attempt = 1 WHERE task_seq = ? AND number = ?');
  const failed = database.prepare(`SELECT task_seq, number FROM chunk JOIN task USING (task_seq)
    WHERE state = 'failed' AND is_visible = 1 AND stored_status IS NOT 'superseded' AND coalesce(task_id = ?, 1)`);
  const reopenTasks = database.prepare(`UPDATE task SET stored_status = NULL, failure_reason = NULL
    WHERE is_visible = 1 AND stored_status = 'failed' AND coalesce(task_id = ?, 1) RETURNING task_seq`);
  const writeResults = createResultWriter(tools);
  return {
    claimChunk: (request) =>
      database.transaction(() => {
        sweep();
        const lease = free.claim(request);
        counts.refresh(now());
        return lease;
      }, WITHOUT_SYNC),
    peekChunk: (request) => free.peek(request),
    takeBack,
    heartbeat: ({ token, leaseSeconds }) =>
      database.transaction(() => {
        const row = live.get(token, now());
        if (row === undefined) return false;
        extend.run(now() + leaseSeconds, ...placeOf(row));
        counts.touch(Number(row['task_seq']));
        counts.refresh(now());
        return true;
      }, WITHOUT_SYNC),
    storeResults: ({ token, results, provenance }) =>
      database.transaction(() => {
        const row = live.get(token, now());
        if (row === undefined) return { isHeld: false, outcomes: [], event: null };
        const outcomes = writeResults(row, results, provenance);
        if (outcomes.some(isWritten)) progress.run(...placeOf(row));
        counts.touch(Number(row['task_seq']));
        counts.refresh(now());
        const judgedBy = results.map((result) => result.judgedBy);
        return { isHeld: true, outcomes, event: tools.eventOf({ judgedBy, isOfRun: true }) };
      }),
    endLease: ({ token, outcome }) =>
      database.transaction(() => {
        const row = live.get(token, now());
        if (row === undefined) return false;
        const attempt = Number(row['attempt']);
        const reason = 'reason' in outcome ? outcome.reason : null;
        release.run(...endOf(outcome, attempt, Number(row['open_units']) > 0), reason, ...placeOf(row));
        counts.touch(Number(row['task_seq']));
        counts.refresh(now());
        return true;
      }, WITHOUT_SYNC),
    sweepLeases: () =>
      database.transaction(() => {
        const swept = sweep();
        counts.refresh(now());
        return swept;
      }, WITHOUT_SYNC),
    reopenChunks: (taskId) =>
      database.transaction(() => {
        const rows = failed.all(taskId);
        for (const row of rows) {
          release.run('idle', 0, 0, null, ...placeOf(row));
          counts.touch(Number(row['task_seq']));
        }
        for (const row of reopenTasks.all(taskId)) counts.touch(Number(row['task_seq']));
        counts.refresh(now());
        return rows.length;
      }),
  };
}

function placeOf(row: Row): readonly [number, number] {
  return [Number(row['task_seq']), Number(row['number'])];
}

/** Ends leases: the state, the attempts, the time of the next one, the reason, and the place. */
function prepareRelease(database: Database): Statement {
  return database.prepare(`UPDATE chunk SET state = ?, attempt = ?, next_attempt_at = ?, failure_reason = ?,
    lease_owner = NULL, lease_token = NULL, lease_expires_at = NULL WHERE task_seq = ? AND number = ?`);
}

/** Makes the tokens of this process. They grow, so that every token below the first one is of an earlier process. */
function createTokens(createToken: () => string): {
  readonly next: () => string;
  readonly first: () => string;
} {
  let first: string | null = null;
  const next = (): string => {
    const token = createToken();
    first ??= token;
    return token;
  };
  return { next, first: () => first ?? next() };
}

function createTakeBack(
  { database, counts, now }: WorkTools,
  firstToken: () => string,
): ChunkLeases['takeBack'] {
  const left = database.prepare(`SELECT task_seq, number, attempt FROM chunk
    WHERE state = 'leased' AND lease_owner = ? AND lease_token < ?`);
  const release = prepareRelease(database);
  return (owner) =>
    database.transaction(() => {
      const rows = left.all(owner, firstToken());
      for (const row of rows) {
        release.run('idle', Math.max(0, Number(row['attempt']) - 1), 0, null, ...placeOf(row));
        counts.touch(Number(row['task_seq']));
      }
      counts.refresh(now());
      return rows.length;
    });
}

/**
 * The state, the attempts and the time of the next attempt after the end of a lease. A chunk that is done and still has open units
 * stays free: people held these units, and may release them.
 */
function endOf(outcome: ChunkEnd, attempt: number, hasOpenUnits: boolean): readonly [string, number, number] {
  switch (outcome.kind) {
    case 'done':
      return [hasOpenUnits ? 'idle' : 'succeeded', 0, 0];
    case 'left':
      return ['idle', 0, 0];
    case 'retry':
      return ['retry_wait', attempt, outcome.nextAttemptAt];
    case 'failed':
      return ['failed', attempt, 0];
    case 'cancelled':
      return ['cancelled', Math.max(0, attempt - 1), 0];
  }
}

function createSweep({ database, counts, now }: WorkTools, firstToken: () => string): () => number {
  const expired =
    database.prepare(`SELECT chunk.task_seq, number, lease_token, chunk.attempt, max_attempts FROM chunk
    JOIN task USING (task_seq) WHERE state = 'leased' AND chunk.lease_expires_at <= ?
    ORDER BY chunk.lease_expires_at LIMIT ${SWEEP_CHUNKS}`);
  const release = prepareRelease(database);
  return () => {
    const rows = expired.all(now());
    for (const row of rows) {
      const attempt = Number(row['attempt']);
      // The process ended, not the work: nothing says that another attempt would fail.
      const isOrphaned = String(row['lease_token']) < firstToken();
      const isLast = !isOrphaned && attempt >= Number(row['max_attempts']);
      const attempts = isOrphaned ? Math.max(0, attempt - 1) : attempt;
      release.run(isLast ? 'failed' : 'idle', attempts, 0, isLast ? 'lease_expired' : null, ...placeOf(row));
      counts.touch(Number(row['task_seq']));
    }
    return rows.length;
  };
}
