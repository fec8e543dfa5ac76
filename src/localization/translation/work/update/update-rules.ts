import { instant } from '../../../../domain/instant.ts';
import { nextStatuses, type TranslationTaskStatus } from '../../../../domain/translation/task-status.ts';
import { countText } from '../../../../domain/count-text.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import { sameBytes, type Row } from '../store/target-rows.ts';
import { getTarget } from '../store/target-store.ts';
import {
  authorKindOf,
  refuse,
  type NamedUnits,
  type TaskUpdate,
  type UpdateRefusal,
} from '../store/task-update.ts';
import { claimOn } from '../store/withheld-units.ts';
import type { Work } from '../store/work.ts';
import type { NamedSource, PlacedUnits } from './update-units.ts';

/** Why an update cannot be made now, the findings on its targets aside: transitions, sources, revisions, leases. */
export function checkUpdate(
  work: Work,
  task: Row,
  update: TaskUpdate,
  units: PlacedUnits,
): UpdateRefusal | null {
  return (
    checkTransition(task, update) ??
    checkSources(update.results, units) ??
    checkRevisions(work, update, units) ??
    (update.force ? null : checkLeases(work, task, update, units))
  );
}

function checkTransition(task: Row, update: TaskUpdate): UpdateRefusal | null {
  const { status, results } = update;
  const from = task['status'] as TranslationTaskStatus;
  if (from === 'superseded') {
    if (results.length > 0 && (status === null || status === 'in_progress' || status === 'translated'))
      return null;
    return refuse(
      'invalid_transition',
      'the task is superseded: a newer release has replaced it; only results can still be sent, and go to its successor',
    );
  }
  // Results without a status are work in progress.
  const to = status ?? (results.length > 0 ? 'in_progress' : null);
  const next = nextStatuses(from, authorKindOf(update) === 'machine');
  if (to === null || next.includes(to)) return null;
  return refuse(
    'invalid_transition',
    `the task is ${from} and cannot become ${to}; ${next.length === 0 ? 'its status cannot be changed here' : `possible: ${next.join(', ')}`}`,
  );
}

/** Refuses results that were made for another source text. */
export function checkSources(results: readonly NamedSource[], units: PlacedUnits): UpdateRefusal | null {
  const wrong = results.filter(
    ({ unitId, sourceText, sourceDigest }) =>
      !sourceText.isWellFormed() || !sameBytes(units.at(unitId).sourceDigest, sourceDigest),
  );
  if (wrong.length === 0) return null;
  const ids = wrong.slice(0, 20).map(({ unitId }) => unitIdText(unitId));
  return refuse(
    'source_mismatch',
    `${countText(wrong.length, 'result was', 'results were')} made for another source text than the stored one: ${ids.join(', ')}; export again`,
    wrong.slice(0, 20).map(({ pointer }) => ({ pointer, message: 'source_text is not the stored one' })),
  );
}

/** Refuses units that do not have the revision that the caller expects. */
export function checkRevisions(work: Work, { expect }: NamedUnits, units: PlacedUnits): UpdateRefusal | null {
  const differing = expect.flatMap(({ unitId, revision, pointer }) => {
    const found = getTarget(work, units.at(unitId).unitId)?.revision ?? 0;
    if (found === revision) return [];
    return { pointer, message: `${unitIdText(unitId)} has revision ${found}, not ${revision}` };
  });
  if (differing.length === 0) return null;
  const messages = differing.slice(0, 20).map(({ message }) => message);
  return refuse(
    'revision_changed',
    `${messages.join('; ')}; read these units again`,
    differing.slice(0, 100),
  );
}

/**
 * Refuses a change of a unit that another person has claimed. Who works in the console claims under the name of the token, and
 * may import a file under another name.
 *
 * @param caller the name that the caller gives, and the token
 * @param advice to the caller
 */
export function checkClaim(
  work: Work,
  unitId: Uint8Array,
  caller: readonly (string | null)[],
  advice: string,
): UpdateRefusal | null {
  const claim = claimOn(work, unitId);
  if (claim === undefined || caller.includes(claim.owner)) return null;
  return leaseHeld(claim.owner, claim.expires_at, `the unit ${unitIdText(unitId)}`, advice);
}

const UPDATE_ADVICE = 'wait, or send force';

function leaseHeld(owner: unknown, until: unknown, what: string, advice = UPDATE_ADVICE): UpdateRefusal {
  const end = instant(Number(until));
  return refuse('lease_held', `${String(owner)} holds ${what} until ${end}; ${advice}`);
}

const CHUNK_LEASE = `SELECT lease_owner, lease_expires_at FROM chunk
  WHERE task_seq = ? AND number = ? AND state = 'leased' AND lease_expires_at > ?`;
const ANY_LEASE = `SELECT lease_owner, lease_expires_at FROM chunk
  WHERE task_seq = ? AND state = 'leased' AND lease_expires_at > ? AND lease_owner IS NOT ? LIMIT 1`;

/**
 * Units that another person has claimed refuse every change, and units on hold the results of a program. A chunk of another worker
 * refuses the results of a program: those of a person are stored, and the worker's result loses. A lease also keeps the status of
 * the task.
 */
function checkLeases(work: Work, task: Row, update: TaskUpdate, units: PlacedUnits): UpdateRefusal | null {
  const { workerId, tokenId, status, results, expect, waive, hold } = update;
  const isProgram = authorKindOf(update) === 'machine';
  for (const { unitId: named } of [...results, ...expect, ...waive, ...hold]) {
    const { unitId, taskSeq, chunk } = units.at(named);
    const claimed = checkClaim(work, unitId, isProgram ? [workerId] : [workerId, tokenId], UPDATE_ADVICE);
    if (claimed !== null) return claimed;
    const leased = isProgram ? work.sql(CHUNK_LEASE).get(taskSeq, chunk, work.now()) : undefined;
    if (leased !== undefined && leased['lease_owner'] !== workerId) {
      return leaseHeld(
        leased['lease_owner'],
        leased['lease_expires_at'],
        `the lease on ${unitIdText(unitId)}`,
      );
    }
  }
  const onHold = isProgram ? checkHolds(work, update, units) : null;
  if (onHold !== null || status === null || status === 'in_progress') return onHold;
  const leased = work.sql(ANY_LEASE).get(Number(task['task_seq']), work.now(), workerId);
  if (leased === undefined) return null;
  return leaseHeld(leased['lease_owner'], leased['lease_expires_at'], 'a lease on the task');
}

/** A unit on hold refuses the result of a program: a person decides about it first. */
function checkHolds(work: Work, { results }: TaskUpdate, units: PlacedUnits): UpdateRefusal | null {
  for (const { unitId: named, pointer } of results) {
    const { unitId } = units.at(named);
    const found = work
      .sql('SELECT reviewer FROM hold WHERE unit_id = ? AND target_language = ?')
      .get(unitId, work.targetLanguage);
    if (found === undefined) continue;
    const message = `${String(found['reviewer'] ?? 'a person')} put the unit ${unitIdText(unitId)} on hold`;
    return refuse('lease_held', `${message}; leave it out, or send force`, [{ pointer, message }]);
  }
  return null;
}
