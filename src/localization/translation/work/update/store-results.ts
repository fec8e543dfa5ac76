import type { AcceptedFindings } from '../store/accepted-findings.ts';
import { evaluationFindings } from '../store/new-judgement.ts';
import { NO_PROVENANCE, sameBytes, type Row } from '../store/target-rows.ts';
import type { TargetStore } from '../store/target-store.ts';
import type { WorkTools } from '../store/work-tools.ts';
import {
  NAMED_UNITS,
  UpdateRefused,
  authorKindOf,
  blockedDetail,
  nameBlocked,
  refuse,
  type TaskUpdate,
} from '../store/task-update.ts';
import type { PlacedUnits } from './update-units.ts';

/** Creates the storing of the results of an update. */
export function createResultStore(
  { targets }: WorkTools,
  accepted: AcceptedFindings,
): (
  task: Row,
  update: TaskUpdate,
  units: PlacedUnits,
  now: number,
) => { written: Uint8Array[]; repeated: number } {
  return (task, update, units, now) => {
    const { results, status, providerRunId, provider, tokenId } = update;
    const written: Uint8Array[] = [];
    let repeated = 0;
    for (const result of results) {
      const { unitId } = units.at(result.unitId);
      const before = targets.get(unitId);
      const hasSameText =
        before !== null && before.text === result.text && sameBytes(before.sourceDigest, result.sourceDigest);
      if (hasSameText && providerRunId !== null && before.providerRunId === providerRunId) {
        repeated += 1;
        continue;
      }
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
        findings: [...result.findings, ...(hasSameText ? evaluationFindings(before) : [])],
        qaIdentity: result.qaIdentity,
        propagatedFrom: null,
        updatedAt: now,
      };
      if (result.text === '' && status !== 'translated') {
        if (before === null) {
          repeated += 1;
          continue;
        }
        targets.takeBack(target, provenance);
      } else {
        const isBlocked = accepted.blocking({ ...result, unitId }).length > 0;
        const state = isBlocked ? 'blocked' : status === 'translated' ? 'translated' : 'draft';
        targets.put({ ...target, state }, provenance);
      }
      written.push(result.unitId);
    }
    return { written, repeated };
  };
}

/** Refuses `translated` for results that are blocked after the decisions of the same call. @throws UpdateRefused */
export function requireUsable({ results }: TaskUpdate, units: PlacedUnits, targets: TargetStore): void {
  const blocked = results.filter(({ unitId }) => targets.stateOf(units.at(unitId).unitId) === 'blocked');
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
