/** The bodies of the actions that the editor sends; pure. */

import { reasonOfRemark } from '../../../../domain/translation/task-remark.ts';
import type { SaveAttempt } from './unit-draft.ts';

/** How long a claim of a unit lasts, seconds. Each saved text begins it again. */
export const CLAIM_SECONDS = 120;

interface Named {
  readonly taskId: string;
  readonly unitId: string;
}

export interface ReadTarget extends Named {
  readonly source: string;
  readonly text: string;
  readonly revision: number;
}

/** Stores a text as a draft, and claims its unit. */
export function saveBody({ taskId, unitId }: Named, attempt: SaveAttempt, person: string): object {
  return {
    task_id: taskId,
    translation_results: [{ unit_id: unitId, source_text: attempt.source, translated_text: attempt.text }],
    args: [`expect=${unitId}:${attempt.revision}`],
    ...claimOf(person),
    ...(attempt.force ? { force: true } : {}),
  };
}

/** Claims a unit and changes nothing. */
export function claimBody({ taskId, unitId }: Named, revision: number, person: string): object {
  return {
    task_id: taskId,
    translation_results: [],
    args: [`expect=${unitId}:${revision}`],
    ...claimOf(person),
  };
}

/** Leaves a remark at a task, or takes it away with an empty text, and changes nothing else. */
export function remarkBody(taskId: string, text: string): object {
  return { task_id: taskId, translation_results: [], reason: text === '' ? '' : reasonOfRemark(text) };
}

/** Hands a complete task to the review. */
export function submitBody(taskId: string): object {
  return { task_id: taskId, status: 'translated' };
}

/** Accepts a finding of a check for the present source and target of a unit. */
export function waiveBody(
  { taskId, unitId, revision }: ReadTarget,
  check: string,
  decision: Decision,
): object {
  return {
    task_id: taskId,
    translation_results: [],
    args: [`expect=${unitId}:${revision}`, `waive=${unitId}:${check}`],
    ...decision,
    worker_id: decision.reviewer,
  };
}

/** Allows a target despite what the Glossary found. */
export function overrideBody(
  target: ReadTarget,
  { qaIdentity, at }: { readonly qaIdentity: string; /** Unix seconds. */ readonly at: number },
  { reviewer, reason }: Decision,
): object {
  const { taskId, unitId, source, text, revision } = target;
  return {
    task_id: taskId,
    translation_results: [{ unit_id: unitId, source_text: source, translated_text: text }],
    args: [`expect=${unitId}:${revision}`],
    glossary_override: {
      qa_identity: qaIdentity,
      reviewer,
      reason,
      provenance: 'console',
      confirmed_unix_seconds: Math.floor(at),
    },
    worker_id: reviewer,
  };
}

interface Decision {
  readonly reviewer: string;
  readonly reason: string;
}

/** Accepts targets of one task as they were read. */
export function acceptBody(targets: readonly ReadTarget[], reviewer: string): object {
  return { ...targetsBody(targets), status: 'proofread', reviewer };
}

/** Returns targets of one task to their translators. */
export function returnBody(targets: readonly ReadTarget[], { reviewer, reason }: Decision): object {
  return { ...targetsBody(targets), status: 'pending', reviewer, reason };
}

/** The targets of one call, each for the revision that was read. */
export function targetsBody(targets: readonly ReadTarget[]): object {
  return {
    task_id: targets[0]?.taskId ?? '',
    translation_results: targets.map(({ unitId, source, text }) => ({
      unit_id: unitId,
      source_text: source,
      translated_text: text,
    })),
    args: targets.map(({ unitId, revision }) => `expect=${unitId}:${revision}`),
  };
}

function claimOf(person: string): object {
  return person === '' ? {} : { worker_id: person, lease_seconds: CLAIM_SECONDS };
}

/** Bounds of one call: `args` has at most 1,000 entries, and a body at most 1 MiB. */
const CALL_UNITS = 900;
const CALL_BYTES = 900 * 1024;
/** Of the names and numbers that a unit has in a body. */
const SPARE_BYTES = 256;

/** Targets in groups that one call takes, in their order: of one task, and within the bounds of a body. */
export function callsOf<T extends ReadTarget>(targets: readonly T[]): readonly (readonly T[])[] {
  const bytes = new TextEncoder();
  const calls: T[][] = [];
  for (const ofTask of Map.groupBy(targets, ({ taskId }) => taskId).values()) {
    let call: T[] = [];
    let filled = 0;
    for (const target of ofTask) {
      const size = bytes.encode(JSON.stringify([target.source, target.text])).length + SPARE_BYTES;
      if (call.length === 0 || call.length === CALL_UNITS || filled + size > CALL_BYTES) {
        calls.push((call = []));
        filled = 0;
      }
      call.push(target);
      filled += size;
    }
  }
  return calls;
}
