/** Decisions of reviewers, and the units that refuse one; pure. */

import type { ApiFailure } from '../../api/api-client.ts';
import type { ReadTarget } from '../editor/draft/update-bodies.ts';
import type { Unit, UnitHistory } from '../editor/unit.ts';

export type Decision = 'accepted' | 'returned';

export type ReviewScope = 'translated' | 'drafts' | 'findings' | 'held';

/** The files whose units wait. */
export interface WaitingFiles {
  readonly title: string;
  readonly containers: readonly Readonly<Record<string, string>>[];
  /** Identifies the list. */
  readonly key: string;
  /** The units that are shown first. */
  readonly scope: ReviewScope;
}

/** Files that wait now, and that a list does not have. */
export function newFiles(shown: WaitingFiles, present: WaitingFiles): number {
  const has = new Set(shown.containers.map((each) => JSON.stringify(each)));
  return present.containers.filter((each) => !has.has(JSON.stringify(each))).length;
}

/** The texts that a reviewer has typed and not sent, by unit, each with the text of the field before. They outlive a reload of the list. */
export type Corrections = Map<string, { readonly base: string; readonly text: string }>;

/** Whether a unit waits for a decision. */
export function isWaiting({ translation }: Unit, scope: ReviewScope): boolean {
  if (translation === null || translation.target_text === null) return false;
  if (scope === 'held') return translation.hold !== null;
  if (scope === 'findings') return translation.findings.length > 0 && translation.state !== 'proofread';
  return translation.state === 'translated' || (scope === 'drafts' && translation.state === 'draft');
}

/** The target that a reviewer has read; `null` for a unit without one. */
export function readTargetOf({ unit_id: unitId, source_text: source, translation }: Unit): ReadTarget | null {
  if (translation === null || translation.task_id === null || translation.target_text === null) return null;
  const { task_id: taskId, target_text: text, revision } = translation;
  return { taskId, unitId, source, text, revision };
}

/**
 * Whether the target of a unit is still the text that a person has read, and the daemon has written it again: it gives repetitions
 * of a source what was stored for one of them.
 */
export function isRepetitionOf(
  translation: Unit['translation'],
  read: string | null,
): translation is NonNullable<Unit['translation']> {
  return translation !== null && translation.propagated_from !== null && translation.target_text === read;
}

/**
 * The targets of a refused call with the revisions of now, if only the daemon has written them again. A unit that was accepted with
 * another file has got this decision if it is an acceptance; a return still has to reach it.
 *
 * @param read the units as the reviewer has read them, by id
 * @param seen the units as they are now, by id
 * @returns what is still to be sent, and the units that have got the decision with another file; `null` when somebody else has
 * changed a unit
 */
export function withPresentRevisions(
  targets: readonly ReadTarget[],
  {
    decision,
    read,
    seen,
  }: {
    readonly decision: Decision;
    readonly read: ReadonlyMap<string, Unit>;
    readonly seen: ReadonlyMap<string, Unit>;
  },
): { readonly left: readonly ReadTarget[]; readonly accepted: readonly string[] } | null {
  const left: ReadTarget[] = [];
  const accepted: string[] = [];
  for (const target of targets) {
    const { unitId, revision } = target;
    const now = seen.get(unitId)?.translation ?? null;
    const before = read.get(unitId)?.translation?.target_text ?? null;
    if (now?.revision === revision) left.push(target);
    else if (!isRepetitionOf(now, before)) return null;
    else if (decision === 'accepted' && now.state === 'proofread' && target.text === before)
      accepted.push(unitId);
    else left.push({ ...target, revision: now.revision });
  }
  return { left, accepted };
}

/** Who or what made the target of a unit: a provider, otherwise a token; empty when nobody knows. */
export function makerOf({ translation }: Unit): string {
  return translation?.author?.provider ?? translation?.author?.token_id ?? '';
}

const RISKS = { error: 100, warning: 20, info: 5 } as const;
/** Longer texts have more places where they can be wrong, UTF-16 code units. */
const LONG_TEXT = 60;

/** How likely it is that the target of a unit is wrong, as far as that can be seen from outside. */
function riskOf({ source_text: source, placeholders, translation }: Unit): number {
  const { findings = [], returned = null, previous_source: previous = null } = translation ?? {};
  return (
    findings.reduce((sum, { severity }) => sum + RISKS[severity], 0) +
    (returned === null && previous === null ? 0 : 20) +
    (translation?.author?.kind === 'machine' ? 5 : 0) +
    3 * placeholders.length +
    Math.floor(source.length / LONG_TEXT)
  );
}

/**
 * A sample of units to read: those with the most risk, and by chance among equals. The ids of units are digests, so that their order
 * is chance, and the same each time.
 *
 * @param share in (0, 1]
 */
export function riskiest(units: readonly Unit[], share: number): readonly Unit[] {
  const ranked = units
    .map((unit) => ({ unit, risk: riskOf(unit) }))
    .toSorted((one, other) => other.risk - one.risk || (one.unit.unit_id < other.unit.unit_id ? -1 : 1));
  return ranked.slice(0, Math.ceil(units.length * share)).map(({ unit }) => unit);
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
