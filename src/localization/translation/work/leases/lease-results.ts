import { createAcceptedFindings } from '../store/accepted-findings.ts';
import { CHUNK_UNITS, type UnitMove } from '../store/task-counts.ts';
import type { JudgedBy, Provenance, Row } from '../store/target-rows.ts';
import type { NewTarget } from '../store/target-store.ts';
import type { WorkTools } from '../store/work-tools.ts';
import { isWithheld } from '../store/withheld-units.ts';

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

/**
 * Creates the writer of the results of a lease; call it inside a transaction. A result loses against every change since the lease
 * began.
 *
 * @returns a function that gives the outcome of each result, in their order
 */
export function createResultWriter(
  tools: WorkTools,
): (chunk: Row, results: readonly WorkerResult[], provenance: Provenance) => readonly StoredOutcome[] {
  const { database, targetLanguage, targets, counts, now } = tools;
  const revisionsOf = createRevisionReader(tools);
  const credit = database.prepare('UPDATE task SET provider = ?, provider_run_id = ? WHERE task_seq = ?');
  const accepted = createAcceptedFindings(database, targetLanguage);
  return (chunk, results, provenance) => {
    const taskSeq = Number(chunk['task_seq']);
    const revisions = revisionsOf(taskSeq, Number(chunk['number']));
    const moves: UnitMove[] = [];
    const outcomes = results.map(({ target, revision, judgedBy }): StoredOutcome => {
      const { unitId } = target;
      const key = unitKey(unitId, target.sourceDigest);
      const stored = revisions.get(key);
      if (stored?.revision !== revision) return stored?.isRepeated === true ? 'repeated' : 'skipped';
      // A second result of the unit loses.
      revisions.delete(key);
      const state = accepted.blocking(target).length > 0 ? 'blocked' : 'draft';
      const isMachine = target.authorKind === 'machine';
      targets.put(
        { ...target, state, stateBefore: null, updatedAt: now() },
        { ...provenance, judgedBy, ...(isMachine ? {} : { model: null, promptDigest: null }) },
        moves,
      );
      return state;
    });
    counts.moveAll(moves);
    const last = results.findLast(
      ({ target }, at) => isWritten(outcomes[at] ?? 'skipped') && target.authorKind === 'machine',
    );
    if (last !== undefined) credit.run(last.target.provider, last.target.providerRunId, taskSeq);
    return outcomes;
  };
}

/**
 * Creates the reader of the revisions of the targets of a chunk, without the units that a person holds or works on. One statement
 * reads all of them.
 *
 * @returns a function that gives, by unit and source, the revisions, 0 without a target, and whether it is that of an equal unit
 */
function createRevisionReader({
  database,
  targetLanguage,
  now,
}: WorkTools): (
  taskSeq: number,
  chunk: number,
) => Map<string, { readonly revision: number; readonly isRepeated: boolean }> {
  const units =
    database.prepare(`SELECT task_unit.unit_id, task_unit.source_digest, coalesce(revision, 0) AS revision,
    propagated_from IS NOT NULL AND state <> 'stale' AS is_repeated
    FROM task_unit LEFT JOIN target ON target.unit_id = task_unit.unit_id AND target_language = :language
    WHERE task_seq = :task_seq AND number BETWEEN :first AND :last AND NOT ${isWithheld('task_unit.unit_id')}`);
  return (taskSeq, chunk) => {
    const first = chunk * CHUNK_UNITS;
    const range = {
      task_seq: taskSeq,
      first,
      last: first + CHUNK_UNITS - 1,
      language: targetLanguage,
      now: now(),
    };
    return new Map(
      units
        .all(range)
        .map((row) => [
          unitKey(row['unit_id'] as Uint8Array, row['source_digest'] as Uint8Array),
          { revision: Number(row['revision']), isRepeated: row['is_repeated'] === 1 },
        ]),
    );
  };
}

function unitKey(unitId: Uint8Array, sourceDigest: Uint8Array): string {
  return Buffer.concat([unitId, sourceDigest]).toString('latin1');
}
