import { blockingFindings } from '../store/accepted-findings.ts';
import { evaluationFindings } from '../store/new-judgement.ts';
import { NO_PROVENANCE, sameBytes, type Row } from '../store/target-rows.ts';
import { getTarget, putTarget, stateOf, takeTargetBack } from '../store/target-store.ts';
import {
  NAMED_UNITS,
  UpdateRefused,
  authorKindOf,
  blockedDetail,
  nameBlocked,
  refuse,
  type TaskUpdate,
} from '../store/task-update.ts';
import type { Work } from '../store/work.ts';
import type { PlacedUnits } from './update-units.ts';

/**
 * Stores the results of an update.
 *
 * @returns the units that were written, by the id that the caller uses, and how many results change nothing
 */
export function writeResults(
  work: Work,
  task: Row,
  update: TaskUpdate,
  units: PlacedUnits,
): { readonly written: readonly Uint8Array[]; readonly repeated: number } {
  const { results, status, providerRunId, provider, tokenId } = update;
  const written: Uint8Array[] = [];
  for (const result of results) {
    const { unitId } = units.at(result.unitId);
    const before = getTarget(work, unitId);
    const hasSameText =
      before !== null && before.text === result.text && sameBytes(before.sourceDigest, result.sourceDigest);
    if (hasSameText && providerRunId !== null && before.providerRunId === providerRunId) continue;
    const provenance = {
      ...NO_PROVENANCE,
      reviewer: update.reviewer,
      reason: update.reason,
      judgedBy: result.judgedBy,
      taskId: String(task['task_id']),
      releaseId: String(task['release_id']),
    };
    const target = {
      unitId,
      text: result.text,
      stateBefore: null,
      sourceText: result.sourceText,
      sourceDigest: result.sourceDigest,
      authorKind: authorKindOf(update),
      tokenId,
      provider,
      providerRunId,
      findings: [...result.findings, ...(hasSameText ? evaluationFindings(before.findings) : [])],
      qaIdentity: result.qaIdentity,
      propagatedFrom: null,
      updatedAt: work.now(),
    };
    if (result.text === '' && status !== 'translated') {
      if (before === null) continue;
      takeTargetBack(work, target, provenance);
    } else {
      const isBlocked = blockingFindings(work, { ...result, unitId }).length > 0;
      const state = isBlocked ? 'blocked' : status === 'translated' ? 'translated' : 'draft';
      putTarget(work, { ...target, state }, provenance);
    }
    written.push(result.unitId);
  }
  return { written, repeated: results.length - written.length };
}

/** Refuses `translated` for results that are blocked after the decisions of the same call. @throws UpdateRefused */
export function requireUsable(work: Work, { results }: TaskUpdate, units: PlacedUnits): void {
  const blocked = results.filter(({ unitId }) => stateOf(work, units.at(unitId).unitId) === 'blocked');
  if (blocked.length === 0) return;
  const named = blocked
    .slice(0, NAMED_UNITS)
    .map(({ unitId, qaIdentity }) => nameBlocked(unitId, qaIdentity));
  throw new UpdateRefused(
    refuse(
      'qa_blocked',
      blockedDetail(blocked.length, named),
      blocked.slice(0, 100).map(({ pointer, findings }) => ({
        pointer: `${pointer}/translated_text`,
        message: findings.map(({ check, message }) => `${check}: ${message}`).join('; '),
      })),
    ),
  );
}
