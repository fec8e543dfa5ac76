import { isOpen } from '../../../../domain/translation/unit-state.ts';
import { CHUNK_UNITS } from '../store/task-counts.ts';
import type { WorkTools } from '../store/work-tools.ts';
import { isWithheld } from '../store/withheld-units.ts';

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

/**
 * Creates the reader of the units of a chunk that need a target, without those that a person holds or works on, and those that
 * the job `propagate` is about to give the target of another unit.
 */
export function createLeasedUnits({
  database,
  targetLanguage,
  targets,
  now,
}: WorkTools): (taskSeq: number, chunk: number) => LeasedUnit[] {
  const units =
    database.prepare(`SELECT unit_id, ordinal, source_digest, iif(repeats, repetition, unit_id) AS repetition
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
    ORDER BY number`);
  return (taskSeq, chunk) => {
    const first = chunk * CHUNK_UNITS;
    const range = {
      task_seq: taskSeq,
      first,
      last: first + CHUNK_UNITS - 1,
      language: targetLanguage,
      now: now(),
    };
    return units.all(range).flatMap((row) => {
      const unitId = row['unit_id'] as Uint8Array;
      const target = targets.get(unitId);
      if (!isOpen(target?.state ?? 'untranslated')) return [];
      return {
        unitId,
        ordinal: Number(row['ordinal']),
        sourceDigest: row['source_digest'] as Uint8Array,
        revision: target?.revision ?? 0,
        repetition: row['repetition'] as Uint8Array,
      };
    });
  };
}
