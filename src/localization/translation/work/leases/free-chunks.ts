import { isOpen } from '../../../../domain/translation/unit-state.ts';
import { wasProofread } from '../store/proofread-containers.ts';
import { getTarget } from '../store/target-store.ts';
import { CHUNK_UNITS, TASK_IS_OPEN, taskRow } from '../store/task-counts.ts';
import { isWithheld } from '../store/withheld-units.ts';
import type { Work } from '../store/work.ts';

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

/** A unit of a leased chunk that needs a target. */
export interface LeasedUnit {
  readonly unitId: Uint8Array;
  /** In its file. */
  readonly ordinal: number;
  readonly sourceDigest: Uint8Array;
  /** The revision of its target; 0 without one. A result counts only while it is the same. */
  readonly revision: number;
  /** Equal for units that are translated once; that of a unit whose container takes no part is its own. */
  readonly repetition: Uint8Array;
}

/** A chunk with the units that need a target. */
export interface OpenChunk extends ChunkPlace {
  readonly taskId: string;
  readonly releaseId: string;
  /** Of the parse index. */
  readonly generation: number;
  readonly destination: string;
  readonly archiveEntry: string | null;
  /** Whether a proofread has accepted units of the container. */
  readonly wasProofread: boolean;
  readonly units: readonly LeasedUnit[];
}

const FREE = `FROM chunk JOIN task USING (task_seq) WHERE open_units > 0 AND is_visible = 1
  AND target_language = :language AND ${TASK_IS_OPEN}
  AND chunk.attempt < :max_attempts AND (chunk.task_seq, chunk.number) > (:after_task, :after_number)
  AND coalesce(task_id = :task_id, 1) AND coalesce(chunk.task_seq <= :until_task, 1)
  AND coalesce(chunk.task_seq = :task_seq AND chunk.number = :number, 1)`;
const ORDER = 'ORDER BY chunk.task_seq, chunk.number LIMIT 1';

/** Finds the first free chunk in the order of work. */
const FIND_CHUNK = `SELECT * FROM (
  SELECT * FROM (SELECT chunk.task_seq, chunk.number ${FREE} AND chunk.state = 'idle' ${ORDER})
  UNION ALL SELECT * FROM (SELECT chunk.task_seq, chunk.number ${FREE} AND chunk.state = 'cancelled' ${ORDER})
  UNION ALL SELECT * FROM (SELECT chunk.task_seq, chunk.number ${FREE} AND chunk.state = 'retry_wait'
    AND chunk.next_attempt_at <= :now ${ORDER})
) ORDER BY task_seq, number LIMIT 1`;

/** The first free chunk in the order of work. */
export function findFreeChunk(work: Work, request: ClaimRequest): OpenChunk | null {
  const { maxAttempts, taskId, after, untilTask, place } = request;
  const found = work.sql(FIND_CHUNK).get({
    language: work.targetLanguage,
    max_attempts: maxAttempts,
    after_task: after?.taskSeq ?? -1,
    after_number: after?.number ?? -1,
    task_id: taskId,
    until_task: untilTask ?? null,
    task_seq: place?.taskSeq ?? null,
    number: place?.number ?? null,
    now: work.now(),
  });
  if (found === undefined) return null;
  const [taskSeq, number] = [Number(found['task_seq']), Number(found['number'])];
  const task = taskRow(work, taskSeq) ?? {};
  const destination = String(task['destination']);
  const archiveEntry = task['archive_entry'] as string | null;
  return {
    taskSeq,
    number,
    taskId: String(task['task_id']),
    releaseId: String(task['release_id']),
    generation: Number(task['generation']),
    destination,
    archiveEntry,
    wasProofread: wasProofread(work, destination, archiveEntry),
    units: leasedUnits(work, taskSeq, number),
  };
}

/** The parameters of a statement about the units of a chunk that nobody withholds. */
export function unitsOfChunk(work: Work, taskSeq: number, chunk: number): Record<string, string | number> {
  const first = chunk * CHUNK_UNITS;
  return {
    task_seq: taskSeq,
    first,
    last: first + CHUNK_UNITS - 1,
    language: work.targetLanguage,
    now: work.now(),
  };
}

const UNITS = `SELECT unit_id, ordinal, source_digest, iif(repeats, repetition, unit_id) AS repetition
  FROM task_unit JOIN task USING (task_seq)
  WHERE task_seq = :task_seq AND number BETWEEN :first AND :last
  AND NOT ${isWithheld('task_unit.unit_id')}
  AND NOT (repeats AND EXISTS (SELECT 1 FROM changed_repetition AS changed
    WHERE changed.target_language = :language AND changed.repetition = task_unit.repetition)
    AND EXISTS (SELECT 1 FROM task_unit AS other JOIN task AS other_task ON other_task.task_seq = other.task_seq
    JOIN target ON target.unit_id = other.unit_id AND target.target_language = :language
    WHERE other.repetition = task_unit.repetition AND other_task.build_id = task.build_id AND other_task.repeats
    AND propagated_from IS NULL AND state IN ('draft', 'translated', 'proofread')
    AND target.source_digest = other.source_digest))
  ORDER BY number`;

/**
 * The units of a chunk that need a target, without those that a person holds or works on, and those that the job `propagate` is
 * about to give the target of another unit.
 */
export function leasedUnits(work: Work, taskSeq: number, chunk: number): LeasedUnit[] {
  const rows = work.sql(UNITS).all(unitsOfChunk(work, taskSeq, chunk));
  return rows.flatMap((row) => {
    const unitId = row['unit_id'] as Uint8Array;
    const target = getTarget(work, unitId);
    if (!isOpen(target?.state ?? 'untranslated')) return [];
    return {
      unitId,
      ordinal: Number(row['ordinal']),
      sourceDigest: row['source_digest'] as Uint8Array,
      revision: target?.revision ?? 0,
      repetition: row['repetition'] as Uint8Array,
    };
  });
}
