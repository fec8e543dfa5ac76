import type { Database } from '../../database/sqlite-database.ts';
import { createAcceptedFindings } from './accepted-findings.ts';
import { CHUNK_UNITS, type TaskCounts, type UnitMove } from './task-counts.ts';
import type { JudgedBy } from './judged-by.ts';
import { sameBytes, type Provenance, type Row } from './target-rows.ts';
import type { NewTarget, TargetStore } from './target-store.ts';
import { createWithheldQuery } from './withheld-units.ts';

/** A target of a worker. */
export interface WorkerResult {
  readonly target: Omit<NewTarget, 'updatedAt' | 'stateBefore' | 'state'>;
  /** As in the lease. */
  readonly revision: number;
  readonly judgedBy: JudgedBy;
}

/** The outcome of storing one result. */
export type StoredOutcome = 'draft' | 'blocked' | 'skipped';

export interface ResultWriterOptions {
  readonly database: Database;
  readonly targetLanguage: string;
  readonly targets: TargetStore;
  readonly counts: TaskCounts;
}

/**
 * Creates the writer of the results of a lease; call it inside a transaction. A result loses against every change since the lease
 * began.
 *
 * @returns a function that gives the outcome of each result, in their order
 */
export function createResultWriter({
  database,
  targetLanguage,
  targets,
  counts,
}: ResultWriterOptions): (
  chunk: Row,
  results: readonly WorkerResult[],
  provenance: Provenance,
  now: number,
) => readonly StoredOutcome[] {
  const unit = database.prepare(`SELECT source_digest FROM task_unit
    WHERE task_seq = ? AND unit_id = ? AND number BETWEEN ? AND ?`);
  const isWithheld = createWithheldQuery(database, targetLanguage);
  const credit = database.prepare('UPDATE task SET provider = ?, provider_run_id = ? WHERE task_seq = ?');
  const accepted = createAcceptedFindings(database, targetLanguage);
  return (chunk, results, provenance, now) => {
    const taskSeq = Number(chunk['task_seq']);
    const first = Number(chunk['number']) * CHUNK_UNITS;
    const moves: UnitMove[] = [];
    const outcomes = results.map(({ target, revision, judgedBy }): StoredOutcome => {
      const { unitId } = target;
      const row = unit.get(taskSeq, unitId, first, first + CHUNK_UNITS - 1);
      if (row === undefined || !sameBytes(row['source_digest'] as Uint8Array, target.sourceDigest))
        return 'skipped';
      if (isWithheld(unitId, now)) return 'skipped';
      if ((targets.get(unitId)?.revision ?? 0) !== revision) return 'skipped';
      const state = accepted.blocking(target).length > 0 ? 'blocked' : 'draft';
      const isMachine = target.authorKind === 'machine';
      targets.put(
        { ...target, state, stateBefore: null, updatedAt: now },
        { ...provenance, judgedBy, ...(isMachine ? {} : { model: null, promptDigest: null }) },
        moves,
      );
      return state;
    });
    counts.moveAll(moves);
    const last = results.findLast(
      ({ target }, at) => outcomes[at] !== 'skipped' && target.authorKind === 'machine',
    );
    if (last !== undefined) credit.run(last.target.provider, last.target.providerRunId, taskSeq);
    return outcomes;
  };
}
