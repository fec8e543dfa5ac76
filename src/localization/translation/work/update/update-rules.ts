import { nextStatuses, type TranslationTaskStatus } from '../../../../domain/translation/task-status.ts';
import { countText } from '../../../../domain/count-text.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import { sameBytes, type Row } from '../store/target-rows.ts';
import type { TargetStore } from '../store/target-store.ts';
import type { WorkTools } from '../store/work-tools.ts';
import {
  authorKindOf,
  refuse,
  type TaskUpdate,
  type UpdateRefusal,
  type UpdateResult,
} from '../store/task-update.ts';
import type { PlacedUnits } from './update-units.ts';
import { CLAIM_END } from '../store/withheld-units.ts';

/** Finds the reason why an update cannot be made now, the findings on its targets aside. */
type CheckUpdate = (task: Row, update: TaskUpdate, units: PlacedUnits) => UpdateRefusal | null;

/** Creates the rules of updates: transitions, sources, revisions, leases. */
export function createUpdateRules(tools: WorkTools): CheckUpdate {
  const checkLeases = createLeaseRule(tools);
  return (task, update, units) =>
    checkTransition(task, update) ??
    checkSources(update, units) ??
    checkRevisions(tools.targets, update, units) ??
    (update.force ? null : checkLeases(task, update, units));
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
export function checkSources(
  {
    results,
  }: {
    readonly results: readonly Pick<UpdateResult, 'unitId' | 'sourceText' | 'sourceDigest' | 'pointer'>[];
  },
  units: PlacedUnits,
): UpdateRefusal | null {
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
export function checkRevisions(
  targets: Pick<TargetStore, 'get'>,
  { expect }: Pick<TaskUpdate, 'expect'>,
  units: PlacedUnits,
): UpdateRefusal | null {
  const differing = expect.flatMap(({ unitId, revision, pointer }) => {
    const found = targets.get(units.at(unitId).unitId)?.revision ?? 0;
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
 * Creates the rule that a unit which another person has claimed refuses a change.
 *
 * @param advice to the caller, for the refusal
 */
export function createClaimRule(
  { database, targetLanguage, now }: WorkTools,
  advice: string,
): (unitId: Uint8Array, owner: string | null) => UpdateRefusal | null {
  const claim = database.prepare(
    `SELECT owner, ${CLAIM_END} FROM claim WHERE unit_id = ? AND target_language = ? AND claim.expires_at > ?`,
  );
  return (unitId, owner) => {
    const claimed = claim.get(unitId, targetLanguage, now());
    if (claimed === undefined || claimed['owner'] === owner) return null;
    return held(claimed['owner'], claimed['expires_at'], `the unit ${unitIdText(unitId)}`, advice);
  };
}

function held(owner: unknown, until: unknown, what: string, advice = UPDATE_ADVICE): UpdateRefusal {
  return refuse(
    'lease_held',
    `${String(owner)} holds ${what} until ${new Date(Number(until) * 1000).toISOString()}; ${advice}`,
  );
}

/** The advice to the caller of a refused update. */
const UPDATE_ADVICE = 'wait, or send force';

/**
 * Units that another person has claimed refuse every change, and units on hold the results of a program. A chunk of another worker refuses the results of a program: those of
 * a person are stored, and the worker's result loses. A lease also keeps the status of the task.
 */
function createLeaseRule(tools: WorkTools): CheckUpdate {
  const { database, targetLanguage, now } = tools;
  const checkClaim = createClaimRule(tools, UPDATE_ADVICE);
  const chunk = database.prepare(`SELECT lease_owner, lease_expires_at FROM chunk
    WHERE task_seq = ? AND number = ? AND state = 'leased' AND lease_expires_at > ?`);
  const anyChunk = database.prepare(`SELECT lease_owner, lease_expires_at FROM chunk
    WHERE task_seq = ? AND state = 'leased' AND lease_expires_at > ? AND lease_owner IS NOT ? LIMIT 1`);
  const checkHolds = createHoldRule(database, targetLanguage);
  return (task, update, units) => {
    const { workerId, status, results, expect, waive, hold } = update;
    const isProgram = authorKindOf(update) === 'machine';
    for (const { unitId: named } of [...results, ...expect, ...waive, ...hold]) {
      const { unitId, taskSeq, chunk: number } = units.at(named);
      const claimed = checkClaim(unitId, workerId);
      if (claimed !== null) return claimed;
      const leased = isProgram ? chunk.get(taskSeq, number, now()) : undefined;
      if (leased !== undefined && leased['lease_owner'] !== workerId) {
        return held(leased['lease_owner'], leased['lease_expires_at'], `the lease on ${unitIdText(unitId)}`);
      }
    }
    const onHold = isProgram ? checkHolds(results, units) : null;
    if (onHold !== null || status === null || status === 'in_progress') return onHold;
    const leased = anyChunk.get(Number(task['task_seq']), now(), workerId);
    return leased === undefined
      ? null
      : held(leased['lease_owner'], leased['lease_expires_at'], 'a lease on the task');
  };
}

/** Creates the rule that a unit on hold refuses the result of a program: a person decides about it first. */
function createHoldRule(
  database: Database,
  targetLanguage: string,
): (results: TaskUpdate['results'], units: PlacedUnits) => UpdateRefusal | null {
  const hold = database.prepare('SELECT reviewer FROM hold WHERE unit_id = ? AND target_language = ?');
  return (results, units) => {
    for (const { unitId: named, pointer } of results) {
      const { unitId } = units.at(named);
      const found = hold.get(unitId, targetLanguage);
      if (found === undefined) continue;
      const message = `${String(found['reviewer'] ?? 'a person')} put the unit ${unitIdText(unitId)} on hold`;
      return refuse('lease_held', `${message}; leave it out, or send force`, [{ pointer, message }]);
    }
    return null;
  };
}
