import { UNDO_PROVIDER } from '../../../../contract/actions/provider-names.ts';
import { freedState } from '../../../../domain/translation/requalify.ts';
import { reasonAfter } from '../../../../domain/translation/task-remark.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import { blockingFindings, overrideGlossary, waiveFinding } from '../store/accepted-findings.ts';
import { areCurrent, currentTasks } from '../store/builds.ts';
import { wasProofread } from '../store/proofread-containers.ts';
import { NO_PROVENANCE, sameBytes, type Row } from '../store/target-rows.ts';
import { getTarget, putTarget, setTargetState, stateOf, takeTargetBack } from '../store/target-store.ts';
import { targetsChanged } from '../store/repetition-queue.ts';
import { refreshTasks, taskRow } from '../store/task-counts.ts';
import { taskFields } from '../store/task-page.ts';
import {
  NAMED_UNITS,
  UpdateRefused,
  authorKindOf,
  blockedDetail,
  nameBlocked,
  refuse,
  type ExaminedUpdate,
  type TaskUpdate,
  type UpdateDone,
  type UpdateRefusal,
} from '../store/task-update.ts';
import { holdUnit } from '../store/withheld-units.ts';
import type { Work } from '../store/work.ts';
import { checkUpdate } from './update-rules.ts';
import { placeUnits, unknownTask, visibleTask, type PlacedUnits } from './update-units.ts';
import { evaluationFindings } from '../store/new-judgement.ts';
import { countText } from '../../../../domain/count-text.ts';

/** The tasks were replaced between the two calls of an update, and its targets were judged in other places. */
const TASKS_REPLACED = refuse(
  'backend_unavailable',
  'a newer release replaced the tasks meanwhile; nothing was changed, send the update again',
);

/** Whether an update could be made now, its findings aside, and where its units are, so that their targets can be judged. */
export function examineUpdate(work: Work, update: TaskUpdate): ExaminedUpdate | UpdateRefusal {
  const found = findUnits(work, update);
  if ('isRefused' in found) return found;
  const containers = new Map<
    number,
    ExaminedUpdate['containers'][number] & { units: { result: number; ordinal: number }[] }
  >();
  for (const [result, { unitId }] of update.results.entries()) {
    const { taskSeq, ordinal } = found.units.at(unitId);
    const task = taskRow(work, taskSeq) ?? {};
    const container = containers.get(taskSeq) ?? {
      destination: String(task['destination']),
      wasProofread: wasProofread(work, String(task['destination']), task['archive_entry'] as string | null),
      units: [],
    };
    containers.set(taskSeq, container);
    container.units.push({ result, ordinal });
  }
  return { isRefused: false, builtFor: currentTasks(work), containers: [...containers.values()] };
}

/** Makes an update, all or nothing. Everything is examined again, in one transaction with the change. */
export function applyUpdate(work: Work, update: TaskUpdate): UpdateDone | UpdateRefusal {
  const { isTrial, judgedFor } = update;
  return transactionOf(work, isTrial, () => {
    const found = findUnits(work, update);
    if ('isRefused' in found) return found;
    if (judgedFor !== null && !areCurrent(work, judgedFor)) return TASKS_REPLACED;
    return writeUpdate(work, found.task, update, found.units);
  });
}

/** Runs a change that can be refused after it has begun to write. A trial changes nothing. */
export function transactionOf<Done>(
  work: Work,
  isTrial: boolean,
  change: () => Done | UpdateRefusal,
): Done | UpdateRefusal {
  try {
    return work.database.transaction(change, { isTrial });
  } catch (error) {
    if (error instanceof UpdateRefused) return error.refusal;
    throw error;
  } finally {
    // What is left was rolled back.
    work.touched.clear();
  }
}

function findUnits(
  work: Work,
  update: TaskUpdate,
): { readonly task: Row; readonly units: PlacedUnits } | UpdateRefusal {
  const task = visibleTask(work, update.taskId);
  if (task === undefined) return unknownTask(update.taskId);
  const units = placeUnits(work, task, update);
  if (units.isRefused) return units;
  return checkUpdate(work, task, update, units) ?? { task, units };
}

function writeUpdate(work: Work, task: Row, update: TaskUpdate, units: PlacedUnits): UpdateDone {
  applyOverride(work, update, units);
  const { written, repeated, takenBack } = writeResults(work, task, update, units);
  waiveFindings(work, update, units);
  for (const { unitId } of update.hold) holdUnit(work, units.at(unitId).unitId, update);
  if (update.status === 'translated') requireUsable(work, update, units);
  claimUnits(work, update, units);
  for (const { unitId } of update.results) work.touched.add(units.at(unitId).taskSeq);
  writeStatus(work, task, update);
  const seq = Number(task['task_seq']);
  work.touched.add(seq);
  refreshTasks(work);
  const appliedTo = new Set(update.results.map(({ unitId }) => units.at(unitId).taskId));
  const judgedBy = update.results.map((result) => result.judgedBy);
  return {
    isRefused: false,
    task: taskFields(taskRow(work, seq) ?? task),
    appliedTo: task['stored_status'] === 'superseded' ? [...appliedTo] : [],
    written: written.map((requestedId) => {
      const { unitId } = units.at(requestedId);
      const target = getTarget(work, unitId);
      const [revision, state] = [target?.revision ?? 0, target?.state ?? 'untranslated'];
      return { unitId, requestedId, revision, state };
    }),
    repeated,
    takenBack,
    event: update.isTrial ? null : targetsChanged(work, { judgedBy }),
  };
}

function applyOverride(work: Work, update: TaskUpdate, units: PlacedUnits): void {
  const { override, results } = update;
  if (override === null) return;
  const covered = results.filter(({ qaIdentity }) => qaIdentity === override.qaIdentity);
  if (covered.length === 0) {
    const current = new Set(results.flatMap(({ qaIdentity }) => qaIdentity ?? []));
    const known = [...current].slice(0, NAMED_UNITS).join(', ') || 'none';
    throw new UpdateRefused(
      refuse(
        'override_stale',
        `no result of this call has the qa_identity of the override; the current ones are: ${known}`,
      ),
    );
  }
  for (const { unitId } of covered) overrideGlossary(work, units.at(unitId).unitId, override, update);
}

function waiveFindings(work: Work, update: TaskUpdate, units: PlacedUnits): void {
  for (const { unitId: named, check, pointer } of update.waive) {
    const { unitId } = units.at(named);
    const target = getTarget(work, unitId);
    const isFound = target?.findings.some((each) => each.check === check && each.waivable) ?? false;
    if (target === null || !isFound) {
      const message = `${unitIdText(unitId)} has no finding "${check}" that can be waived`;
      throw new UpdateRefused(refuse('invalid_request', message, [{ pointer, message }]));
    }
    waiveFinding(work, target, check, update);
    const isFree = stateOf(work, unitId) === 'blocked' && blockingFindings(work, target).length === 0;
    const otherwise = update.status === 'translated' ? 'translated' : 'draft';
    if (isFree) setTargetState(work, unitId, freedState(target.stateBefore, otherwise), null);
  }
}

function claimUnits(work: Work, update: TaskUpdate, units: PlacedUnits): void {
  const { workerId, leaseSeconds, results, expect, hold } = update;
  if (workerId === null || leaseSeconds === null) return;
  const now = work.now();
  work.sql('DELETE FROM claim WHERE target_language = ? AND expires_at <= ?').run(work.targetLanguage, now);
  for (const { unitId } of [...results, ...expect, ...hold]) {
    work
      .sql('INSERT OR REPLACE INTO claim VALUES (?, ?, ?, ?)')
      .run(units.at(unitId).unitId, work.targetLanguage, workerId, now + leaseSeconds);
  }
}

/**
 * Stores the results of an update.
 *
 * @returns the units that were written, by the id that the caller uses, how many results change nothing, and what an undo replaced
 */
function writeResults(
  work: Work,
  task: Row,
  update: TaskUpdate,
  units: PlacedUnits,
): {
  readonly written: readonly Uint8Array[];
  readonly repeated: number;
  readonly takenBack: UpdateDone['takenBack'];
} {
  const { results, status, providerRunId, provider, tokenId } = update;
  const written: Uint8Array[] = [];
  const takenBack: UpdateDone['takenBack'][number][] = [];
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
    if (provider === UNDO_PROVIDER && before !== null && before.text !== '' && before.text !== result.text)
      takenBack.push({ requestedId: result.unitId, text: before.text });
  }
  return { written, repeated: results.length - written.length, takenBack };
}

/** Refuses `translated` for results that are blocked after the decisions of the same call. @throws UpdateRefused */
function requireUsable(work: Work, { results }: TaskUpdate, units: PlacedUnits): void {
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

const BLOCKED_UNITS = `SELECT unit_id, qa_identity FROM task_unit JOIN target USING (unit_id)
  WHERE task_seq = ? AND target_language = ? AND state = 'blocked' ORDER BY number LIMIT ${NAMED_UNITS}`;
const DRAFTS = `SELECT unit_id FROM task_unit JOIN target USING (unit_id)
  WHERE task_seq = ? AND target_language = ? AND state = 'draft' ORDER BY number`;
const WRITE_STATUS = `UPDATE task SET stored_status = :stored, reason = :reason,
  failure_reason = iif(:is_silent, coalesce(:failure_reason, failure_reason), :failure_reason), provider = coalesce(:provider, provider),
  provider_run_id = coalesce(:provider_run_id, provider_run_id) WHERE task_seq = :task_seq`;
const END_LEASES = `UPDATE chunk SET state = 'cancelled', lease_owner = NULL, lease_token = NULL,
  lease_expires_at = NULL WHERE task_seq = ? AND state = 'leased'`;
const REOPEN = `UPDATE chunk SET state = 'idle', attempt = 0, failure_reason = NULL
  WHERE task_seq = ? AND state IN ('failed', 'retry_wait', 'succeeded')`;

/** Stores the status of an update, after its results. @throws UpdateRefused for a status that is not possible */
function writeStatus(work: Work, task: Row, update: TaskUpdate): void {
  const { status, results, reason, failureReason, provider, providerRunId } = update;
  const taskSeq = Number(task['task_seq']);
  const before = task['stored_status'] as string | null;
  const said = task['reason'] as string | null;
  if (before === 'superseded') return;
  // Work on a task that was reopened, or that has failed, makes it more than that: its units decide.
  const isMoved = results.length > 0 && (before === 'pending' || before === 'failed');
  if (status === 'translated') {
    requireComplete(work, taskSeq);
    for (const row of work.sql(DRAFTS).all(taskSeq, work.targetLanguage)) {
      setTargetState(work, row['unit_id'] as Uint8Array, 'translated', null);
    }
  }
  if (status !== null && status !== 'in_progress') work.sql(END_LEASES).run(taskSeq);
  if (status === 'pending') work.sql(REOPEN).run(taskSeq);
  work.sql(WRITE_STATUS).run({
    task_seq: taskSeq,
    stored: status === 'translated' ? null : (status ?? (isMoved ? null : before)),
    is_silent: status === null ? 1 : 0,
    reason: status === null ? (reason ?? said) : reasonAfter(said, reason),
    failure_reason: failureReason,
    provider,
    provider_run_id: providerRunId,
  });
}

function requireComplete(work: Work, taskSeq: number): void {
  const { untranslated = 0, stale = 0, blocked = 0 } = taskRow(work, taskSeq) ?? {};
  if (Number(blocked) > 0) {
    const named = work
      .sql(BLOCKED_UNITS)
      .all(taskSeq, work.targetLanguage)
      .map((row) => nameBlocked(row['unit_id'] as Uint8Array, row['qa_identity'] as string | null));
    throw new UpdateRefused(refuse('qa_blocked', blockedDetail(Number(blocked), named)));
  }
  const missing = Number(untranslated) + Number(stale);
  if (missing === 0) return;
  throw new UpdateRefused(
    refuse(
      'units_missing',
      `${countText(missing, 'unit of the task has', 'units of the task have')} no target for the present text; send these first, or send in_progress`,
    ),
  );
}
