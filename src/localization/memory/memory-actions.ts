import type { TaskEngine } from '../../engine/tasks/task-engine.ts';
import type { BodyOf } from '../../contract/actions/body-of.ts';
import type { Caller } from '../../contract/actions/control-scopes.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { MemoryRecord } from '../../domain/memory/memory-record.ts';
import type { MemoryRefusal } from '../../domain/memory/transitions.ts';
import type { Result } from '../../domain/result.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { defineAction, type DefinedAction } from '../../engine/define-action.ts';
import type { TaskResult } from '../../engine/tasks/task.ts';
import { memoryActionError, refusalError } from './memory-failure.ts';
import type { MemoryThread } from './memory-worker.ts';
import type { ChangedRecord } from './store/memory-changes.ts';
import { blockingFindings } from './target-check.ts';

interface MemoryActionDependencies {
  readonly thread: MemoryThread;
  readonly engine: TaskEngine;
  readonly clock: Clock;
  readonly createId: () => string;
}

/** The actions `translation-memory-confirm` and `translation-memory-resolve-conflict`. */
export function memoryActions(dependencies: MemoryActionDependencies): readonly DefinedAction[] {
  const { engine } = dependencies;
  return [
    defineAction(engine, 'translation-memory-confirm', {
      run: async (body, caller) => await withActionErrors(() => confirmRecord(dependencies, body, caller)),
    }),
    defineAction(engine, 'translation-memory-resolve-conflict', {
      run: async (body, caller) => await withActionErrors(() => resolveConflict(dependencies, body, caller)),
    }),
  ];
}

async function confirmRecord(
  { thread, clock, createId }: MemoryActionDependencies,
  body: BodyOf<'translation-memory-confirm'>,
  { tokenId }: Caller,
): Promise<TaskResult> {
  const { record_id, reviewer, translation_memory_path: path = null, force = false, args = {} } = body;
  const reason = (body.reason ?? '') === '' ? null : (body.reason ?? null);
  const by = { path, record_id, reviewer, tokenId, reason, at: unixSeconds(clock) };
  if (args.reject === true) {
    requireDecision(body.reason, args.target);
    return changedOf(await thread.reject({ ...by, isNamed: true }));
  }
  const record = await thread.record({ path, recordId: record_id });
  const { target } = args;
  const supersede_record_id = body.supersede_record_id ?? null;
  if (record !== null && (record.state !== 'trusted' || target !== undefined))
    refuseBlocked({ ...record, target_text: target ?? record.target_text });
  if (target !== undefined) {
    const revised_id = `tm_${createId()}`;
    return changedOf(
      await thread.revise({ ...by, target_text: target, revised_id, supersede_record_id, force }),
    );
  }
  return changedOf(await thread.confirm({ ...by, supersede_record_id, force }));
}

function changedOf(changed: Result<ChangedRecord, MemoryRefusal>): TaskResult {
  if (!changed.ok) throw refusalError(changed.error);
  return { ...changed.value };
}

/** @throws ServiceError `invalid_request` */
function requireDecision(reason: string | undefined, target: string | undefined): void {
  const errors = [
    ...((reason ?? '').trim() === ''
      ? [{ pointer: '/reason', message: 'is required to reject a record' }]
      : []),
    ...(target === undefined
      ? []
      : [{ pointer: '/args', message: 'reject=true and target= exclude each other' }]),
  ];
  if (errors.length > 0)
    throw new ServiceError('invalid_request', 'the rejection is not valid; "errors" names each field', {
      errors,
    });
}

async function resolveConflict(
  { thread, clock }: MemoryActionDependencies,
  body: BodyOf<'translation-memory-resolve-conflict'>,
  { tokenId }: Caller,
): Promise<TaskResult> {
  const {
    winner_record_id,
    expected_trusted_record_ids,
    reviewer,
    reason,
    translation_memory_path: path = null,
  } = body;
  const resolved = await thread.resolve({
    path,
    winner_record_id,
    expected_trusted_record_ids,
    reviewer,
    tokenId,
    reason,
    at: unixSeconds(clock),
  });
  if (!resolved.ok) throw refusalError(resolved.error);
  return { ...resolved.value };
}

/** @throws ServiceError `qa_blocked` */
function refuseBlocked(record: MemoryRecord): void {
  const findings = blockingFindings({
    source: record.source_text,
    target: record.target_text,
    sourceLanguage: record.source_language,
    targetLanguage: record.target_language,
  });
  if (findings.length === 0) return;
  throw new ServiceError(
    'qa_blocked',
    `the target of ${record.record_id} has blocking findings: ${findings.join('; ')}; confirm a record with a corrected target`,
  );
}

async function withActionErrors<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw memoryActionError(error);
  }
}
