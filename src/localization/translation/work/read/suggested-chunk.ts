import { wasProofread } from '../store/proofread-containers.ts';
import { getTarget } from '../store/target-store.ts';
import type { Work } from '../store/work.ts';
import { visibleTask } from '../update/update-units.ts';
import { leasedUnits, type LeasedUnit, type OpenChunk } from '../leases/free-chunks.ts';

const UNITS = `SELECT unit_id, ordinal, source_digest, repetition FROM task_unit
  WHERE task_seq = ? AND unit_id IN (SELECT unhex(value) FROM json_each(?)) ORDER BY number`;

const OPEN_CHUNKS = 'SELECT number FROM chunk WHERE task_seq = ? AND open_units > 0 ORDER BY number';

/**
 * Units of a task that a person asks about, without a lease, whatever became of the chunks that they are in.
 *
 * @param request.unitIds at most some tens, in any state; empty for the first units that need a target
 * @param request.limit of the units without names
 * @returns `null` without a task that still has its units; units that the task does not have are left out
 */
export function suggestedChunk(
  work: Work,
  {
    taskId,
    unitIds,
    limit,
  }: { readonly taskId: string; readonly unitIds: readonly Uint8Array[]; readonly limit: number },
): OpenChunk | null {
  const task = visibleTask(work, taskId);
  if (task === undefined || task['stored_status'] === 'superseded') return null;
  const taskSeq = Number(task['task_seq']);
  const destination = String(task['destination']);
  const archiveEntry = task['archive_entry'] as string | null;
  return {
    taskSeq,
    number: 0,
    taskId,
    releaseId: String(task['release_id']),
    generation: Number(task['generation']),
    destination,
    archiveEntry,
    wasProofread: wasProofread(work, destination, archiveEntry),
    units: unitIds.length > 0 ? namedUnits(work, taskSeq, unitIds) : openUnits(work, taskSeq, limit),
  };
}

function namedUnits(work: Work, taskSeq: number, unitIds: readonly Uint8Array[]): readonly LeasedUnit[] {
  const named = JSON.stringify(unitIds.map((id) => Buffer.from(id).toString('hex')));
  const rows = work.sql(UNITS).all(taskSeq, named);
  return rows.map((row) => ({
    unitId: row['unit_id'] as Uint8Array,
    ordinal: Number(row['ordinal']),
    sourceDigest: row['source_digest'] as Uint8Array,
    revision: getTarget(work, row['unit_id'] as Uint8Array)?.revision ?? 0,
    repetition: row['repetition'] as Uint8Array,
  }));
}

function openUnits(work: Work, taskSeq: number, limit: number): readonly LeasedUnit[] {
  const units: LeasedUnit[] = [];
  for (const row of work.sql(OPEN_CHUNKS).all(taskSeq)) {
    if (units.length >= limit) break;
    units.push(...leasedUnits(work, taskSeq, Number(row['number'])));
  }
  return units.slice(0, limit);
}
