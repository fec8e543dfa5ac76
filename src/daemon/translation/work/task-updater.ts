import type { Database } from '../../database/sqlite-database.ts';
import { unitIdText } from '../../parse/index/unit-id-text.ts';
import { createAcceptedFindings, type AcceptedFindings, type JudgedTarget } from './accepted-findings.ts';
import type { TaskCounts } from './task-counts.ts';
import { taskFields } from './task-page.ts';
import {
  refuse,
  type ExaminedUpdate,
  type TaskUpdate,
  type UpdateDone,
  type UpdateRefusal,
} from './task-update.ts';
import { NO_PROVENANCE, sameBytes, type Row } from './target-rows.ts';
import type { TargetStore } from './target-store.ts';
import { createUpdateRules } from './update-rules.ts';
import { createUnitFinder, type PlacedUnits } from './update-units.ts';

/** Updates of translation tasks, all or nothing. */
export interface TaskUpdater {
  /** Says whether an update could be made now, its findings aside; changes nothing. */
  examine(update: TaskUpdate, now: number): ExaminedUpdate | UpdateRefusal;
  /** Makes an update. Everything is examined again, in one transaction with the change. */
  apply(update: TaskUpdate, now: number): UpdateDone | UpdateRefusal;
}

export interface TaskUpdaterOptions {
  readonly database: Database;
  readonly targetLanguage: string;
  readonly targets: TargetStore;
  readonly counts: TaskCounts;
}

/** Ends the transaction of an update that is refused after it has begun to write. */
class Refused extends Error {
  readonly refusal: UpdateRefusal;

  constructor(refusal: UpdateRefusal) {
    super(refusal.detail);
    this.refusal = refusal;
  }
}

/** Most units that a refusal names. */
const NAMED_UNITS = 20;

/** Creates the updates of one target language. */
export function createTaskUpdater(options: TaskUpdaterOptions): TaskUpdater {
  const { database, targetLanguage } = options;
  const taskOf = database.prepare(
    'SELECT * FROM task WHERE task_id = ? AND target_language = ? AND is_visible = 1',
  );
  const placeUnits = createUnitFinder(database);
  const checkUpdate = createUpdateRules(options);
  const write = createWriter(options);
  const find = (update: TaskUpdate, now: number): { task: Row; units: PlacedUnits } | UpdateRefusal => {
    const task = taskOf.get(update.taskId, targetLanguage);
    if (task === undefined) {
      return refuse(
        'unknown_translation_task',
        `no translation task has the id "${update.taskId.slice(0, 64)}"`,
      );
    }
    const units = placeUnits(task, update);
    if (units.isRefused) return units;
    return checkUpdate(task, update, units, now) ?? { task, units };
  };
  return {
    examine: (update, now) => {
      const found = find(update, now);
      if ('isRefused' in found) return found;
      return {
        isRefused: false,
        destination: String(found.task['destination']),
        archiveEntry: found.task['archive_entry'] as string | null,
        releaseId: String(found.task['release_id']),
      };
    },
    apply: (update, now) => {
      try {
        return database.transaction(() => {
          const found = find(update, now);
          if ('isRefused' in found) return found;
          return write(found.task, update, found.units, now);
        });
      } catch (error) {
        if (error instanceof Refused) return error.refusal;
        throw error;
      }
    },
  };
}

function createWriter(
  options: TaskUpdaterOptions,
): (task: Row, update: TaskUpdate, units: PlacedUnits, now: number) => UpdateDone {
  const { database, targetLanguage, counts } = options;
  const accepted = createAcceptedFindings(database, targetLanguage);
  const taskOf = database.prepare('SELECT * FROM task WHERE task_seq = ?');
  const storeResults = createResultStore(options, accepted);
  const storeStatus = createStatusStore(options);
  const decide = createDecisions(options, accepted);
  return (task, update, units, now) => {
    decide.override(update, units, now);
    const { written, repeated } = storeResults(task, update, units, now);
    decide.waiveAndHold(update, units, now);
    if (update.status === 'translated') requireUsable(update, units, options.targets);
    decide.claim(update, units, now);
    for (const { unitId } of update.results) counts.touch(units.at(unitId).taskSeq);
    const seq = Number(task['task_seq']);
    storeStatus(task, update, now);
    counts.touch(seq);
    counts.refresh(now);
    const appliedTo = new Set(update.results.map(({ unitId }) => units.at(unitId).taskId));
    return {
      isRefused: false,
      task: taskFields(taskOf.get(seq) ?? task),
      appliedTo: task['stored_status'] === 'superseded' ? [...appliedTo] : [],
      written: written.map((requestedId) => {
        const { unitId } = units.at(requestedId);
        const target = options.targets.get(unitId);
        return {
          unitId,
          requestedId,
          revision: target?.revision ?? 0,
          state: target?.state ?? 'untranslated',
        };
      }),
      repeated,
    };
  };
}

/** Refuses `translated` for results that are blocked after the decisions of the same call. */
function requireUsable({ results }: TaskUpdate, units: PlacedUnits, targets: TargetStore): void {
  const blocked = results.filter(({ unitId }) => targets.stateOf(units.at(unitId).unitId) === 'blocked');
  if (blocked.length === 0) return;
  const named = blocked
    .slice(0, NAMED_UNITS)
    .map(({ unitId, qaIdentity }) => nameBlocked(unitId, qaIdentity));
  throw new Refused(
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

function nameBlocked(unitId: Uint8Array, qaIdentity: string | null): string {
  return qaIdentity === null ? unitIdText(unitId) : `${unitIdText(unitId)} (${qaIdentity})`;
}

function blockedDetail(count: number, named: readonly string[]): string {
  return `${count} units have blocking findings: ${named.join(', ')}; correct, waive or override them, or send in_progress`;
}

/** Stores the results of an update. */
function createResultStore(
  { targets }: TaskUpdaterOptions,
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
      const isRepeated =
        providerRunId !== null &&
        before?.providerRunId === providerRunId &&
        before.text === result.text &&
        sameBytes(before.sourceDigest, result.sourceDigest);
      if (isRepeated) {
        repeated += 1;
        continue;
      }
      const isBlocked = accepted.blocking({ ...result, unitId }).length > 0;
      targets.put(
        {
          unitId,
          text: result.text,
          state: isBlocked ? 'blocked' : status === 'translated' ? 'translated' : 'draft',
          stateBefore: null,
          sourceText: result.sourceText,
          sourceDigest: result.sourceDigest,
          authorKind: provider === null && providerRunId === null ? 'person' : 'machine',
          tokenId,
          provider,
          providerRunId,
          findings: result.findings,
          qaIdentity: result.qaIdentity,
          propagatedFrom: null,
          updatedAt: now,
        },
        {
          ...NO_PROVENANCE,
          reviewer: update.reviewer,
          reason: update.reason,
          glossaryGeneration: update.glossaryGeneration,
          taskId: String(task['task_id']),
          releaseId: String(task['release_id']),
        },
      );
      written.push(result.unitId);
    }
    return { written, repeated };
  };
}

interface Decisions {
  override(update: TaskUpdate, units: PlacedUnits, now: number): void;
  waiveAndHold(update: TaskUpdate, units: PlacedUnits, now: number): void;
  claim(update: TaskUpdate, units: PlacedUnits, now: number): void;
}

/** Decisions about units: overrides, waivers, holds, claims. */
function createDecisions(
  { database, targetLanguage, targets }: TaskUpdaterOptions,
  accepted: AcceptedFindings,
): Decisions {
  const hold = database.prepare('INSERT OR IGNORE INTO hold VALUES (?, ?, ?, ?, ?)');
  const addClaim = database.prepare('INSERT OR REPLACE INTO claim VALUES (?, ?, ?, ?)');
  const endClaims = database.prepare('DELETE FROM claim WHERE target_language = ? AND expires_at <= ?');
  const storedOf = (unitId: Uint8Array): JudgedTarget | null => targets.get(unitId);
  return {
    override: (update, units, now) => {
      const { override, results } = update;
      if (override === null) return;
      const covered = results.filter(({ qaIdentity }) => qaIdentity === override.qaIdentity);
      if (covered.length === 0) {
        const current = new Set(results.flatMap(({ qaIdentity }) => qaIdentity ?? []));
        const known = [...current].slice(0, NAMED_UNITS).join(', ');
        throw new Refused(
          refuse(
            'override_stale',
            `no result of this call has the qa_identity of the override; the current ones are: ${known === '' ? 'none' : known}`,
          ),
        );
      }
      for (const { unitId } of covered) accepted.override(units.at(unitId).unitId, update, now);
    },
    waiveAndHold: (update, units, now) => {
      for (const { unitId: named, check, pointer } of update.waive) {
        const { unitId } = units.at(named);
        const target = storedOf(unitId);
        const isFound = target?.findings.some((each) => each.check === check && each.waivable) ?? false;
        if (target === null || !isFound) {
          const message = `${unitIdText(unitId)} has no finding "${check}" that can be waived`;
          throw new Refused(refuse('invalid_request', message, [{ pointer, message }]));
        }
        accepted.waive(target, check, update, now);
        const isFree = targets.stateOf(unitId) === 'blocked' && accepted.blocking(target).length === 0;
        if (isFree)
          targets.setState(unitId, update.status === 'translated' ? 'translated' : 'draft', null, now);
      }
      for (const { unitId } of update.hold) {
        hold.run(units.at(unitId).unitId, targetLanguage, update.reviewer, update.reason, now);
      }
    },
    claim: ({ workerId, leaseSeconds, results, expect, hold: held }, units, now) => {
      if (workerId === null || leaseSeconds === null) return;
      endClaims.run(targetLanguage, now);
      for (const { unitId } of [...results, ...expect, ...held]) {
        addClaim.run(units.at(unitId).unitId, targetLanguage, workerId, now + leaseSeconds);
      }
    },
  };
}

/** Stores the status of an update, after its results. */
function createStatusStore({
  database,
  targetLanguage,
  targets,
}: TaskUpdaterOptions): (task: Row, update: TaskUpdate, now: number) => void {
  const countsOf = database.prepare('SELECT untranslated, stale, blocked FROM task WHERE task_seq = ?');
  const blockedUnits =
    database.prepare(`SELECT unit_id, qa_identity FROM task_unit JOIN target USING (unit_id)
    WHERE task_seq = ? AND target_language = ? AND state = 'blocked' ORDER BY number LIMIT ${NAMED_UNITS}`);
  const drafts = database.prepare(`SELECT unit_id FROM task_unit JOIN target USING (unit_id)
    WHERE task_seq = ? AND target_language = ? AND state = 'draft' ORDER BY number`);
  const set =
    database.prepare(`UPDATE task SET stored_status = :stored, reason = iif(:keeps_reason, coalesce(:reason, reason), :reason),
    failure_reason = :failure_reason, provider = coalesce(:provider, provider),
    provider_run_id = coalesce(:provider_run_id, provider_run_id) WHERE task_seq = :task_seq`);
  const endLeases =
    database.prepare(`UPDATE chunk SET state = 'cancelled', lease_owner = NULL, lease_token = NULL,
    lease_expires_at = NULL WHERE task_seq = ? AND state = 'leased'`);
  const reopen = database.prepare(
    `UPDATE chunk SET state = 'idle', attempt = 0, failure_reason = NULL WHERE task_seq = ? AND state IN ('failed', 'retry_wait', 'succeeded')`,
  );
  const requireComplete = (taskSeq: number): void => {
    const { untranslated = 0, stale = 0, blocked = 0 } = countsOf.get(taskSeq) ?? {};
    if (Number(blocked) > 0) {
      const named = blockedUnits
        .all(taskSeq, targetLanguage)
        .map((row) => nameBlocked(row['unit_id'] as Uint8Array, row['qa_identity'] as string | null));
      throw new Refused(refuse('qa_blocked', blockedDetail(Number(blocked), named)));
    }
    const missing = Number(untranslated) + Number(stale);
    if (missing === 0) return;
    throw new Refused(
      refuse(
        'units_missing',
        `${missing} units of the task have no target for their text; send them first, or send in_progress`,
      ),
    );
  };
  return (task, { status, results, reason, failureReason, provider, providerRunId }, now) => {
    const taskSeq = Number(task['task_seq']);
    const before = task['stored_status'] as string | null;
    if (before === 'superseded') return;
    // Work on a task that was reopened makes it more than pending.
    const kept = before === 'pending' && results.length > 0 ? null : before;
    if (status === 'translated') {
      requireComplete(taskSeq);
      for (const row of drafts.all(taskSeq, targetLanguage)) {
        targets.setState(row['unit_id'] as Uint8Array, 'translated', null, now);
      }
    }
    if (status !== null && status !== 'in_progress') endLeases.run(taskSeq);
    if (status === 'pending') reopen.run(taskSeq);
    set.run({
      task_seq: taskSeq,
      stored: status === 'translated' ? null : (status ?? kept),
      keeps_reason: status === null ? 1 : 0,
      reason,
      failure_reason: failureReason,
      provider,
      provider_run_id: providerRunId,
    });
  };
}
