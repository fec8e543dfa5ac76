/** Decisions of reviewers, and the units that refuse one; pure. */

import type { ApiFailure } from '../../api/api-client.ts';
import type { ReadTarget } from '../editor/draft/update-bodies.ts';
import type { Unit, UnitHistory } from '../editor/unit.ts';

export type ReviewScope = 'translated' | 'drafts' | 'findings';

/** Whether a unit waits for a decision. */
export function isWaiting({ translation }: Unit, scope: ReviewScope): boolean {
  if (translation === null || translation.target_text === null) return false;
  if (scope === 'findings') return translation.findings.length > 0 && translation.state !== 'proofread';
  return translation.state === 'translated' || (scope === 'drafts' && translation.state === 'draft');
}

/** The target that a reviewer has read; `null` for a unit without one. */
export function readTargetOf({ unit_id: unitId, source_text: source, translation }: Unit): ReadTarget | null {
  if (translation === null || translation.task_id === null || translation.target_text === null) return null;
  const { task_id: taskId, target_text: text, revision } = translation;
  return { taskId, unitId, source, text, revision };
}

export type Ticked = ReadonlyMap<string, number>;

/** The ticked units of a list. A unit that has changed since is no longer ticked: nobody has read its new target. */
export function tickedOf(units: readonly Unit[], ticked: Ticked): readonly Unit[] {
  return units.filter(
    ({ unit_id: id, translation }) => ticked.has(id) && ticked.get(id) === translation?.revision,
  );
}

/** The units as ticked. */
export function tick(units: readonly Unit[]): Ticked {
  return new Map(units.map(({ unit_id: id, translation }) => [id, translation?.revision ?? 0]));
}

const UNIT_ID = /tu1_[a-z2-7]+/g;

/**
 * Finds out which units refused a review, which is all or nothing: their errors point to the results of the call, and the
 * detail names them.
 *
 * @returns messages by unit
 */
export function refusalsOf(
  { message, problem }: ApiFailure,
  sent: readonly ReadTarget[],
): ReadonlyMap<string, string> {
  const byUnit = new Map<string, string>();
  for (const { pointer, message: why } of problem.errors ?? []) {
    const at = /^\/translation_results\/(\d+)/.exec(pointer)?.[1];
    const named = why.match(UNIT_ID)?.[0];
    const unitId = named ?? (at === undefined ? undefined : sent[Number(at)]?.unitId);
    if (unitId !== undefined) byUnit.set(unitId, why.replace(named ?? '', '').replace(/^[\s:;,]+/, ''));
  }
  const ids = new Set(sent.map(({ unitId }) => unitId));
  for (const [id] of message.matchAll(UNIT_ID)) {
    if (ids.has(id) && !byUnit.has(id)) byUnit.set(id, message);
  }
  return byUnit;
}

/** The target that readers had before the present one: the last that was accepted, otherwise the last other one; `null` without one. */
export function previousTarget(history: UnitHistory | null, present: string): string | null {
  const older = (history?.items ?? []).filter(({ target_text: text }) => text !== present && text !== '');
  const accepted = older.findLast(({ state }) => state === 'proofread');
  return (accepted ?? older.at(-1))?.target_text ?? null;
}
