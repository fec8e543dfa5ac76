import { createLeasedUnits, type LeasedUnit } from './leased-units.ts';
import { TASK_IS_OPEN } from '../store/task-counts.ts';
import { createProofreadContainers } from '../store/proofread-containers.ts';
import type { WorkTools } from '../store/work-tools.ts';

/** Asks for a chunk of work. */
export interface ClaimRequest {
  readonly owner: string;
  readonly leaseSeconds: number;
  readonly maxAttempts: number;
  /** Only this task; `null` for every task. */
  readonly taskId: string | null;
  /** The chunk after which the search begins, so that one run takes each chunk once; `null` for the beginning. */
  readonly after: ChunkPlace | null;
  /** The last task whose chunks are wanted, by its place in the order of work; absent for any. */
  readonly untilTask?: number | null;
  /** Only this chunk; absent for any. */
  readonly place?: ChunkPlace | null;
}

/** The place of a chunk in the order of work. */
export interface ChunkPlace {
  readonly taskSeq: number;
  readonly number: number;
}

/** A chunk with the units that need a target. */
export interface OpenChunk extends ChunkPlace {
  readonly taskId: string;
  readonly releaseId: string;
  /** Of the parse index. */
  readonly generation: number;
  /** Position of the file in the parse index. */
  readonly indexPosition: number;
  readonly destination: string;
  readonly archiveEntry: string | null;
  /** Whether a proofread has accepted units of the container. */
  readonly wasProofread: boolean;
  readonly units: readonly LeasedUnit[];
}

/** A chunk that a worker may work on until the lease expires. */
export interface Lease extends OpenChunk {
  readonly token: string;
  readonly attempt: number;
  readonly expiresAt: number;
}

/**
 * Creates the search for free chunks in the order of work, and their leases. Call it inside a transaction.
 *
 * @param createToken makes a token that no other lease has
 */
export function createFreeChunks(
  tools: WorkTools,
  createToken: () => string,
): { claim(request: ClaimRequest): Lease | null; peek(request: ClaimRequest): OpenChunk | null } {
  const { database, targetLanguage, counts, now } = tools;
  const free = `FROM chunk JOIN task USING (task_seq) WHERE open_units > 0 AND is_visible = 1
    AND target_language = :language AND ${TASK_IS_OPEN}
    AND chunk.attempt < :max_attempts AND (chunk.task_seq, chunk.number) > (:after_task, :after_number)
    AND coalesce(task_id = :task_id, 1) AND coalesce(chunk.task_seq <= :until_task, 1)
    AND coalesce(chunk.task_seq = :task_seq AND chunk.number = :number, 1)`;
  const order = 'ORDER BY chunk.task_seq, chunk.number LIMIT 1';
  const find = database.prepare(`SELECT * FROM (
    SELECT * FROM (SELECT chunk.task_seq, chunk.number ${free} AND chunk.state = 'idle' ${order})
    UNION ALL SELECT * FROM (SELECT chunk.task_seq, chunk.number ${free} AND chunk.state = 'cancelled' ${order})
    UNION ALL SELECT * FROM (SELECT chunk.task_seq, chunk.number ${free} AND chunk.state = 'retry_wait'
      AND chunk.next_attempt_at <= :now ${order})
  ) ORDER BY task_seq, number LIMIT 1`);
  const lease =
    database.prepare(`UPDATE chunk SET state = 'leased', lease_owner = ?, lease_token = ?, lease_expires_at = ?,
    attempt = attempt + 1 WHERE task_seq = ? AND number = ? RETURNING attempt`);
  const limit = database.prepare('UPDATE task SET max_attempts = ? WHERE task_seq = ?');
  const taskOf = database.prepare(
    'SELECT task.*, generation FROM task JOIN build USING (build_id) WHERE task_seq = ?',
  );
  const containers = createProofreadContainers(database, targetLanguage);
  const unitsOf = createLeasedUnits(tools);
  const search = ({ maxAttempts, taskId, after, untilTask, place }: ClaimRequest) => {
    const found = find.get({
      language: targetLanguage,
      max_attempts: maxAttempts,
      after_task: after?.taskSeq ?? -1,
      after_number: after?.number ?? -1,
      task_id: taskId,
      until_task: untilTask ?? null,
      task_seq: place?.taskSeq ?? null,
      number: place?.number ?? null,
      now: now(),
    });
    if (found === undefined) return null;
    return { taskSeq: Number(found['task_seq']), number: Number(found['number']) };
  };
  const chunkAt = ({ taskSeq, number }: ChunkPlace): OpenChunk => {
    const task = taskOf.get(taskSeq) ?? {};
    const destination = String(task['destination']);
    const archiveEntry = task['archive_entry'] as string | null;
    return {
      taskSeq,
      number,
      taskId: String(task['task_id']),
      releaseId: String(task['release_id']),
      generation: Number(task['generation']),
      indexPosition: Number(task['index_position']),
      destination,
      archiveEntry,
      wasProofread: containers.has(destination, archiveEntry),
      units: unitsOf(taskSeq, number),
    };
  };
  return {
    peek: (request) => {
      const place = search(request);
      return place === null ? null : chunkAt(place);
    },
    claim: (request) => {
      const place = search(request);
      if (place === null) return null;
      const { owner, leaseSeconds, maxAttempts } = request;
      const token = createToken();
      const expiresAt = now() + leaseSeconds;
      const row = lease.get(owner, token, expiresAt, place.taskSeq, place.number);
      limit.run(maxAttempts, place.taskSeq);
      counts.touch(place.taskSeq);
      return { ...chunkAt(place), token, expiresAt, attempt: Number(row?.['attempt']) };
    },
  };
}
