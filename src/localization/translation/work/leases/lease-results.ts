import { blockingFindings } from '../store/accepted-findings.ts';
import type { JudgedBy, Provenance, Row } from '../store/target-rows.ts';
import { putTarget, type NewTarget } from '../store/target-store.ts';
import { moveUnits, type UnitMove } from '../store/task-counts.ts';
import { isWithheld } from '../store/withheld-units.ts';
import type { Work } from '../store/work.ts';
import { unitsOfChunk } from './free-chunks.ts';

/** A target of a worker. */
export interface WorkerResult {
  readonly target: Omit<NewTarget, 'updatedAt' | 'stateBefore' | 'state'>;
  /** As in the lease. */
  readonly revision: number;
  readonly judgedBy: JudgedBy;
}

/** The outcome of storing one result. */
export type StoredOutcome =
  | 'draft'
  | 'blocked'
  /** Not written: the unit got the target of an equal unit since the lease. */
  | 'repeated'
  /** Not written: it lost against a person or a newer target. */
  | 'skipped';

/** Whether a result was written. */
export function isWritten(outcome: StoredOutcome): boolean {
  return outcome === 'draft' || outcome === 'blocked';
}

const REVISIONS = `SELECT task_unit.unit_id, task_unit.source_digest, coalesce(revision, 0) AS revision,
  propagated_from IS NOT NULL AND state <> 'stale' AS is_repeated
  FROM task_unit LEFT JOIN target ON target.unit_id = task_unit.unit_id AND target_language = :language
  WHERE task_seq = :task_seq AND number BETWEEN :first AND :last AND NOT ${isWithheld('task_unit.unit_id')}`;

/**
 * Writes the results of a lease; call it inside a transaction. A result loses against every change since the lease began.
 *
 * @returns the outcome of each result, in their order
 */
export function writeResults(
  work: Work,
  chunk: Row,
  results: readonly WorkerResult[],
  provenance: Provenance,
): readonly StoredOutcome[] {
  const taskSeq = Number(chunk['task_seq']);
  const units = work.sql(REVISIONS).all(unitsOfChunk(work, taskSeq, Number(chunk['number'])));
  const revisions = new Map(
    units.map((row) => [unitKey(row['unit_id'] as Uint8Array, row['source_digest'] as Uint8Array), row]),
  );
  const moves: UnitMove[] = [];
  const outcomes = results.map(({ target, revision, judgedBy }): StoredOutcome => {
    const key = unitKey(target.unitId, target.sourceDigest);
    const stored = revisions.get(key);
    if (stored?.['revision'] !== revision) return stored?.['is_repeated'] === 1 ? 'repeated' : 'skipped';
    // A second result of the unit loses.
    revisions.delete(key);
    const state = blockingFindings(work, target).length > 0 ? 'blocked' : 'draft';
    const isMachine = target.authorKind === 'machine';
    putTarget(
      work,
      { ...target, state, stateBefore: null, updatedAt: work.now() },
      { ...provenance, judgedBy, ...(isMachine ? {} : { model: null, promptDigest: null }) },
      moves,
    );
    return state;
  });
  moveUnits(work, moves);
  const last = results.findLast(
    ({ target }, at) => isWritten(outcomes[at] ?? 'skipped') && target.authorKind === 'machine',
  );
  if (last !== undefined) {
    work
      .sql('UPDATE task SET provider = ?, provider_run_id = ? WHERE task_seq = ?')
      .run(last.target.provider, last.target.providerRunId, taskSeq);
  }
  return outcomes;
}

function unitKey(unitId: Uint8Array, sourceDigest: Uint8Array): string {
  return Buffer.concat([unitId, sourceDigest]).toString('latin1');
}
