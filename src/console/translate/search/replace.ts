/** The replacement of a text in many translations, and its undo. */

import { REPLACE_PROVIDER, UNDO_PROVIDER } from '../../../contract/actions/provider-names.ts';
import { type ApiFailure, failureOf } from '../../api/api-client.ts';
import { callsOf, type ReadTarget, targetsBody } from '../editor/draft/update-bodies.ts';
import { type ReadUnits, readUnitsAgain } from '../editor/list/unit-scan.tsx';
import { containerQuery, type Unit } from '../editor/unit.ts';
import { isRepetitionOf, refusalsOf } from '../review/review-model.ts';

/** A translation with another text, and what it was. It is replaced only while it has its revision. */
export interface Replacement extends ReadTarget {
  readonly destination: string;
  readonly container: Readonly<Record<string, string>>;
  /** Its position in the container. */
  readonly ordinal: number;
  readonly before: string;
}

/**
 * The translations that have a text, with the other one in its place. Letters count exactly as they are typed.
 *
 * @param sent texts that this replacement has sent already, by unit: they may contain the text that is replaced
 */
export function replacementsIn(
  units: readonly Unit[],
  find: string,
  put: string,
  sent: ReadonlyMap<string, string>,
): readonly Replacement[] {
  if (find === '') return [];
  return units.flatMap((unit) => {
    const { unit_id: unitId, destination, ordinal, source_text: source, translation } = unit;
    const before = translation?.target_text ?? '';
    const text = before.replaceAll(find, () => put);
    const taskId = translation?.task_id ?? null;
    const isLeftOut = taskId === null || unit.is_cut || translation?.is_cut === true || text === before;
    if (isLeftOut || text.trim() === '' || sent.get(unitId) === before) return [];
    const revision = translation?.revision ?? 0;
    return [
      {
        taskId,
        unitId,
        destination,
        container: containerQuery(unit),
        ordinal,
        source,
        before,
        text,
        revision,
      },
    ];
  });
}

/** Stores the replacements of one call as drafts, all or none. @param run names all calls of one replacement, to undo them */
export function replaceBody(
  call: readonly Replacement[],
  { run, person }: { readonly run: string; readonly person: string },
): object {
  return { ...draftsBody(call, person), provider: REPLACE_PROVIDER, provider_run_id: run };
}

/** Puts the translations of one call back as drafts. */
export function restoreBody(call: readonly Replacement[], person: string): object {
  return { ...draftsBody(call, person), provider: UNDO_PROVIDER };
}

/** What puts replaced translations back. */
export function restored(replaced: readonly Replacement[]): readonly Replacement[] {
  return replaced.map((each) => ({ ...each, text: each.before, before: each.text }));
}

function draftsBody(call: readonly Replacement[], person: string): object {
  // With this id, the person's own claims block nothing. Without a status, the task keeps the question that somebody has asked.
  return { ...targetsBody(call), ...(person === '' ? {} : { worker_id: person }) };
}

/** What became of replacements. */
export interface SentReplacements {
  /** With the revisions that they have now. */
  readonly stored: readonly Replacement[];
  /** Those of them that their findings block, as far as the daemon names them. */
  readonly blocked: readonly Replacement[];
  /** Repetitions of others, which the daemon gave the same text. */
  readonly same: readonly Replacement[];
  /** Sent without an answer: they may be stored. */
  readonly unsure: readonly Replacement[];
  /** Somebody has changed them since they were read. */
  readonly changed: readonly Replacement[];
  readonly refused: ReadonlyArray<{ readonly target: Replacement; readonly why: string }>;
}

type Outcome = { -readonly [K in keyof SentReplacements]: SentReplacements[K][number][] };

interface Sending {
  readonly bodyOf: (call: readonly Replacement[]) => object;
  /** The same body sent again after a lost answer is done once. @throws ApiFailure */
  readonly post: (body: object) => Promise<unknown>;
  readonly readerOf: (container: Readonly<Record<string, string>>) => ReadUnits;
  /** @param seconds before a call that got no answer is sent again */
  readonly pause: (seconds: number) => Promise<void>;
}

/** Times that a call is sent. Each time units that the daemon has named leave it. */
const MOST_ROUNDS = 20;
/** Times that a call is sent again because it got no answer. */
const MOST_LOST = 2;
const LONGEST_PAUSE = 30;

/** Sends replacements in calls, one after another. What one unit refuses does not stop the others. It never throws. */
export async function sendReplacements(
  targets: readonly Replacement[],
  sending: Sending,
): Promise<SentReplacements> {
  const outcome: Outcome = { stored: [], blocked: [], same: [], unsure: [], changed: [], refused: [] };
  for (const call of callsOf(targets)) await sendCall(call, sending, outcome);
  return outcome;
}

async function sendCall(call: readonly Replacement[], sending: Sending, outcome: Outcome): Promise<void> {
  const { bodyOf, post, pause } = sending;
  let left = call;
  let lost = 0;
  for (let round = 1; left.length > 0; round += 1) {
    try {
      const written = writtenIn(await post(bodyOf(left)));
      const now = ({ unitId, revision }: Replacement): number => written.get(unitId)?.revision ?? revision;
      outcome.stored.push(...left.map((target) => ({ ...target, revision: now(target) })));
      outcome.blocked.push(...left.filter(({ unitId }) => written.get(unitId)?.state === 'blocked'));
      return;
    } catch (error) {
      const failure = failureOf(error);
      // A proxy that wants a sign-in has kept the call from the server; one before it may have got there.
      if (failure.isSignedOut ? lost > 0 : failure.isPassing) {
        if (lost === MOST_LOST || failure.isSignedOut) {
          outcome.unsure.push(...left);
          return;
        }
        lost += 1;
        await pause(Math.min(failure.retryAfter ?? 1, LONGEST_PAUSE));
        continue;
      }
      const next = await withoutRefused(left, failure, sending, outcome);
      const isSame = next.length === left.length && next.every((target, at) => target === left[at]);
      left = next;
      if (!isSame && round < MOST_ROUNDS) continue;
      outcome.refused.push(...left.map((target) => ({ target, why: failure.message })));
      return;
    }
  }
}

/** The replacements of a refused call that can be sent again. */
async function withoutRefused(
  left: readonly Replacement[],
  failure: ApiFailure,
  { readerOf }: Sending,
  outcome: Outcome,
): Promise<readonly Replacement[]> {
  if (failure.code !== 'revision_changed') {
    const named = refusalsOf(failure, left);
    outcome.refused.push(
      ...left.flatMap((target) => {
        const why = named.get(target.unitId);
        return why === undefined ? [] : [{ target, why }];
      }),
    );
    return left.filter(({ unitId }) => !named.has(unitId));
  }
  const seen = await readUnitsAgain(left, readerOf(left[0]?.container ?? {})).catch(() => null);
  if (seen === null) return left;
  return left.flatMap((target) => {
    const now = seen.get(target.unitId)?.translation ?? null;
    if (now?.revision === target.revision) return [target];
    if (isRepetitionOf(now, target.before) && now.state !== 'proofread')
      return [{ ...target, revision: now.revision }];
    (now?.target_text === target.text ? outcome.same : outcome.changed).push(target);
    return [];
  });
}

interface Written {
  readonly unit_id: string;
  readonly revision: number;
  readonly state: string;
}

function writtenIn(answer: unknown): ReadonlyMap<string, Written> {
  const { units = [] } = ((answer as { readonly result?: unknown }).result ?? {}) as {
    readonly units?: readonly Written[];
  };
  return new Map(units.map((unit) => [unit.unit_id, unit]));
}
