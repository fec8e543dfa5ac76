import { type ApiFailure, failureOf } from '../../api/api-client.ts';
import { callsOf, type ReadTarget } from '../editor/draft/update-bodies.ts';
import { readUnitsAgain, type ReadUnits } from '../editor/list/unit-scan.tsx';
import { containerQuery, type Unit } from '../editor/unit.ts';
import { refusalsOf, withPresentRevisions, type Decision } from './review-model.ts';

/** The code of a unit that was written since it was read. */
export const CHANGED = 'revision_changed';
/** Times that a call is sent because the decision about another file has changed its units. */
const MOST_ROUNDS = 5;

/** What became of decisions. */
interface SentDecisions {
  readonly decided: ReadonlySet<string>;
  /** The first one; `null` when everything is decided. */
  readonly failure: ApiFailure | null;
  /** Units of calls without an answer: they may have been decided. */
  readonly unsure: number;
  readonly refused: ReadonlyMap<string, string>;
}

interface Sending {
  readonly decision: Decision;
  /** The units as the reviewer has read them, by id. */
  readonly read: ReadonlyMap<string, Unit>;
  /** Sends a call. The same one sent again after a lost answer is done once. @throws ApiFailure */
  readonly post: (call: readonly ReadTarget[]) => Promise<unknown>;
  readonly readerOf: (container: Readonly<Record<string, string>>) => ReadUnits;
}

/** Sends the decision about units of one or several files. Each call is all or nothing; one that is refused keeps no other one. */
export async function sendDecisions(
  targets: readonly ReadTarget[],
  sending: Sending,
): Promise<SentDecisions> {
  const decided = new Set<string>();
  const refused = new Map<string, string>();
  let first: ApiFailure | null = null;
  let unsure = 0;
  for (const call of callsOf(targets)) {
    const { done, left, failure } = await sendCall(call, sending);
    for (const unitId of done) decided.add(unitId);
    if (failure === null) continue;
    first ??= failure;
    // A proxy that wants a sign-in has kept the call from the server.
    if (failure.isPassing && !failure.isSignedOut) unsure += left.length;
    for (const [unitId, why] of refusalsOf(failure, left)) {
      refused.set(unitId, failure.code === CHANGED ? 'It has changed since you read it.' : why);
    }
  }
  return { decided, failure: first, unsure, refused };
}

/**
 * Sends the decision about units of one file. A decision about another file can have written repetitions of its texts here; such a
 * unit still has the text that the reviewer has read, and is sent again.
 *
 * @returns the ids of the decided units, also of those that another file's decision has reached before a failure, and what the last
 * call had
 */
async function sendCall(
  call: readonly ReadTarget[],
  { decision, read, post, readerOf }: Sending,
): Promise<{
  readonly done: readonly string[];
  readonly left: readonly ReadTarget[];
  readonly failure: ApiFailure | null;
}> {
  const done: string[] = [];
  let left = call;
  for (let round = 1; left.length > 0; round += 1) {
    try {
      await post(left);
      break;
    } catch (error) {
      const failure = failureOf(error);
      const units = left.flatMap(({ unitId }) => read.get(unitId) ?? []);
      const [unit] = units;
      if (failure.code !== CHANGED || round === MOST_ROUNDS || unit === undefined)
        return { done, left, failure };
      const places = units.map(({ unit_id: unitId, ordinal }) => ({ unitId, ordinal }));
      // The refusal is the answer, also when nobody can say now what has changed.
      const seen = await readUnitsAgain(places, readerOf(containerQuery(unit))).catch(() => null);
      const next = seen === null ? null : withPresentRevisions(left, { decision, read, seen });
      if (next === null) return { done, left, failure };
      done.push(...next.accepted);
      left = next.left;
    }
  }
  return { done: [...done, ...left.map(({ unitId }) => unitId)], left: [], failure: null };
}
