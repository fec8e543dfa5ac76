import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { defineAction, type DefinedAction } from '../../engine/define-action.ts';
import type { TaskEngine } from '../../engine/tasks/task-engine.ts';
import { unitIdText } from '../unit-id-text.ts';
import type { TaskResult } from '../../engine/tasks/task.ts';
import type { TargetOffers } from './judge/offer-targets.ts';
import type { TargetJudge } from './judge/target-judge.ts';
import type { SourceUnit, UnitSource } from './judge/unit-source.ts';
import {
  authorKindOf,
  type ExaminedUpdate,
  type TaskUpdate,
  type UndoRequest,
  type UpdateDone,
  type UpdateResult,
} from './work/store/task-update.ts';
import {
  parseArguments,
  parseOverride,
  parseResults,
  parseUndo,
  withoutTexts,
} from './work/update/named-units.ts';
import { requireAccepted, translationServiceError } from './work/translation-failure.ts';
import type { TranslationThread } from './work/translation-worker.ts';
import { UNDO_PROVIDER } from '../../contract/actions/provider-names.ts';
import { offerHandedIn } from './review/handed-in.ts';
import type { BodyOf } from '../../contract/actions/body-of.ts';
import { ServiceError, type FieldError } from '../../contract/problems/service-error.ts';
import { LONGEST_LEASE_SECONDS } from '../../domain/translation/lease-length.ts';

interface UpdateActionOptions {
  readonly engine: TaskEngine;
  readonly thread: TranslationThread;
  readonly judge: TargetJudge;
  readonly units: UnitSource;
  readonly offers: TargetOffers;
  readonly clock: Clock;
}

const NAMED_UNITS = 1000;
/** Most findings that it names in sum and of one unit, and their longest message, in UTF-16 units. */
const NAMED_FINDINGS = 1000;
const NAMED_FINDINGS_OF_UNIT = 5;
const NAMED_CHARACTERS = 300;

/** The action `translation-task-update`. */
export function updateAction(options: UpdateActionOptions): DefinedAction {
  return defineAction(options.engine, 'translation-task-update', {
    needs: (body) => (waivesFindings(body) ? ['review'] : []),
    unused: unusedFields,
    args: withoutTexts,
    run: async (body, caller) => {
      const update = parseTaskUpdate(body, caller.tokenId, unixSeconds(options.clock));
      try {
        return { ...(await runUpdate(options, update)), token_id: caller.tokenId };
      } catch (error) {
        throw translationServiceError(error);
      }
    },
  });
}

/** The update that takes targets back, and what the result says about them: each unit gets the text that it had before, unless someone changes it meanwhile. */
async function undoOf(
  thread: TranslationThread,
  update: TaskUpdate & { readonly undo: UndoRequest },
): Promise<{ readonly wanted: TaskUpdate; readonly undone: TaskResult }> {
  const { targets, claimed, next } = await thread.undoTargets(update);
  const wanted: TaskUpdate = {
    ...update,
    provider: UNDO_PROVIDER,
    providerRunId: null,
    status: targets.length === 0 ? null : 'in_progress',
    results: targets.map(({ unitId, sourceText, sourceDigest, text }) => ({
      unitId,
      sourceText,
      sourceDigest,
      text,
      pointer: '/args',
      findings: [],
      qaIdentity: null,
      judgedBy: null,
    })),
    expect: targets.map(({ unitId, revision }) => ({ unitId, revision, pointer: '/args' })),
  };
  return { wanted, undone: { undo_next: next, undo_claimed: claimed } };
}

interface JudgedUpdate {
  readonly update: TaskUpdate;
  /** One for each result of the update. */
  readonly sources: readonly SourceUnit[];
}

async function runUpdate(options: UpdateActionOptions, given: TaskUpdate): Promise<TaskResult> {
  const { thread } = options;
  const { undo } = given;
  const { wanted, undone } =
    undo === undefined ? { wanted: given, undone: {} } : await undoOf(thread, { ...given, undo });
  const examined = requireAccepted(await thread.examineUpdate(wanted));
  const { update, sources } = await judgeUpdate(options, wanted, examined);
  const done = requireAccepted(await thread.applyUpdate(update));
  const isKnown = wanted.isTrial || (await tellMemory(options, { update, sources }, done));
  return {
    ...(wanted.isTrial ? { dry_run: true } : {}),
    task: done.task,
    written: done.written.length,
    repeated: done.repeated,
    units: writtenUnits(update, done),
    ...undone,
    ...(done.appliedTo.length === 0 ? {} : { applied_to: done.appliedTo }),
    ...(isKnown ? {} : { memory: 'unavailable' }),
  };
}

/** The first stored units of an update with their findings, which are part of the recorded task and bounded. */
function writtenUnits({ results }: TaskUpdate, { written }: UpdateDone) {
  const findingsOf = new Map(results.map(({ unitId, findings }) => [unitIdText(unitId), findings]));
  let named = 0;
  return written.slice(0, NAMED_UNITS).map(({ unitId, requestedId, revision, state }) => {
    const findings = (findingsOf.get(unitIdText(requestedId)) ?? [])
      .slice(0, Math.max(0, Math.min(NAMED_FINDINGS_OF_UNIT, NAMED_FINDINGS - named)))
      .map(({ check, origin, severity, message, waivable }) => ({
        check,
        origin,
        severity,
        message: message.slice(0, NAMED_CHARACTERS),
        waivable,
      }));
    named += findings.length;
    const shown = findings.length === 0 || state === 'untranslated' ? {} : { findings };
    return { unit_id: unitIdText(unitId), revision, state, ...shown };
  });
}

async function judgeUpdate(
  { judge, units }: UpdateActionOptions,
  update: TaskUpdate,
  { builtFor, containers }: ExaminedUpdate,
): Promise<JudgedUpdate> {
  if (update.results.length === 0) return { update, sources: [] };
  const results: UpdateResult[] = [...update.results];
  const sources: SourceUnit[] = [];
  for (const { destination, wasProofread, units: placed } of containers) {
    const ordinals = placed.map(({ ordinal }) => ordinal);
    const found = await units.unitsOf({ ...builtFor, destination, ordinals, neighbours: 1 });
    const texts = placed.map(({ result }, at) => {
      const { sourceText = '', text: targetText = '' } = update.results[result] ?? {};
      const source = found[at];
      if (source === undefined) throw new Error('the parse index gave fewer units than ordinals');
      sources[result] = source;
      return { place: source.unit, sourceText, targetText };
    });
    const judged = await judge.judge(texts, { wasProofread });
    for (const [at, { result }] of placed.entries()) {
      const before = update.results[result];
      const judgement = judged.judgements[at];
      if (before !== undefined && judgement !== undefined)
        results[result] = { ...before, ...judgement, judgedBy: judged.by };
    }
  }
  return { update: { ...update, results, judgedFor: builtFor }, sources };
}

/**
 * Tells the Translation Memory what an update means for it: targets that are handed in, or that a file or a program brings, become
 * candidates, and those that an undo takes back are candidates no more. What a person saves while typing is nothing yet.
 *
 * @returns whether the memory answered
 */
async function tellMemory(
  options: UpdateActionOptions,
  judged: JudgedUpdate,
  done: UpdateDone,
): Promise<boolean> {
  const { update } = judged;
  if (update.provider === UNDO_PROVIDER) return await rejectTakenBack(options, judged, done);
  if (update.status !== 'translated' && authorKindOf(update) === 'person') return true;
  // What was saved before is handed in with it.
  const isHandedIn =
    update.status === 'translated' && (update.results.length === 0 || authorKindOf(update) === 'person');
  return isHandedIn ? await offerHandedIn(options, update) : await offerWritten(options, judged, done);
}

/** Rejects the candidates that came of targets which an undo has taken back. */
async function rejectTakenBack(
  { offers }: UpdateActionOptions,
  { update: { results, taskId, reviewer, reason, tokenId, judgedFor }, sources }: JudgedUpdate,
  { takenBack }: UpdateDone,
): Promise<boolean> {
  const texts = new Map(takenBack.map(({ requestedId, text }) => [unitIdText(requestedId), text]));
  const targets = results.flatMap(({ unitId }, index) => {
    const [source, targetText] = [sources[index], texts.get(unitIdText(unitId))];
    if (source === undefined || targetText === undefined) return [];
    const provenance = { provider: null, provider_run_id: null, task_id: taskId };
    return { source, unitId: unitIdText(source.unit.unitId), targetText, author: null, ...provenance };
  });
  const by = { reviewer: reviewer ?? UNDO_PROVIDER, tokenId, reason: reason ?? 'the target was taken back' };
  return await offers.withdraw(targets, by, judgedFor?.releaseId ?? null);
}

/** Offers the stored targets that nothing blocks to the Translation Memory. @returns whether it took them */
async function offerWritten(
  { offers }: UpdateActionOptions,
  { update, sources }: JudgedUpdate,
  { written }: UpdateDone,
): Promise<boolean> {
  const usable = new Set(
    written
      .filter(({ state }) => state !== 'blocked' && state !== 'untranslated')
      .map(({ requestedId }) => unitIdText(requestedId)),
  );
  const { taskId, provider, providerRunId, tokenId } = update;
  const author = { kind: authorKindOf(update), tokenId };
  const targets = update.results.flatMap(({ unitId, text }, index) => {
    const source = sources[index];
    if (source === undefined || !usable.has(unitIdText(unitId))) return [];
    return {
      source,
      unitId: unitIdText(source.unit.unitId),
      targetText: text,
      author,
      provider,
      provider_run_id: providerRunId,
      task_id: taskId,
    };
  });
  return await offers.offer(targets, 'task_update', update.judgedFor?.releaseId ?? null);
}

type Body = BodyOf<'translation-task-update'>;

/**
 * Parses the body of `translation-task-update` to an update whose targets are not checked yet.
 *
 * @param tokenId the token of the caller
 * @param now Unix seconds
 * @throws ServiceError `invalid_request`, with a pointer to each wrong field
 */
function parseTaskUpdate(body: Body, tokenId: string | null, now: number): TaskUpdate {
  const errors: FieldError[] = [];
  const results = parseResults(body.translation_results ?? [], errors);
  const { fields, taken } = parseUndo(body, errors);
  const named = parseArguments(body.args ?? [], errors, taken);
  const override = parseOverride(body.glossary_override, now, errors);
  if (named.waive.length > 0) requireReason(body, errors);
  if (body.lease_seconds !== undefined && (body.worker_id ?? '') === '') {
    errors.push({
      pointer: '/worker_id',
      message: 'is required with lease_seconds: it names the owner of the claim',
    });
  }
  if (errors.length > 0) {
    throw new ServiceError('invalid_request', 'the update is not valid; "errors" names each field', {
      errors: errors.slice(0, 100),
    });
  }
  return {
    taskId: body.task_id,
    status: body.status ?? null,
    results,
    failureReason: body.failure_reason ?? null,
    providerRunId: body.provider_run_id ?? null,
    provider: body.provider ?? null,
    judgedFor: null,
    override,
    workerId: body.worker_id ?? null,
    leaseSeconds:
      body.lease_seconds === undefined ? null : Math.min(Number(body.lease_seconds), LONGEST_LEASE_SECONDS),
    reviewer: body.reviewer ?? null,
    reason: body.reason ?? null,
    force: body.force ?? false,
    tokenId,
    ...fields,
    ...named,
  };
}

function requireReason(body: Body, errors: FieldError[]): void {
  for (const field of ['reviewer', 'reason'] as const) {
    if ((body[field] ?? '').trim() === '')
      errors.push({ pointer: `/${field}`, message: 'is required to waive a finding' });
  }
}

/** The fields of an update that have no effect: a claim needs units. */
function unusedFields({ lease_seconds, translation_results = [], args = [] }: Body): 'lease_seconds'[] {
  const namesUnits = translation_results.length > 0 || args.some((entry) => /^(expect|hold)=/.test(entry));
  return lease_seconds === undefined || namesUnits ? [] : ['lease_seconds'];
}

/** Whether an update waives findings, which is the decision of a reviewer. */
function waivesFindings({ args = [] }: Body): boolean {
  return args.some((entry) => entry.startsWith('waive='));
}
