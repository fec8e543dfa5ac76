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
  type UpdateDone,
  type UpdateResult,
} from './work/store/task-update.ts';
import { withoutTexts } from './work/update/named-units.ts';
import { requireAccepted, translationServiceError } from './work/translation-failure.ts';
import { parseTaskUpdate, waivesFindings, unusedFields } from './update-request.ts';
import type { TranslationThread } from './work/translation-worker.ts';

interface UpdateActionOptions {
  readonly engine: TaskEngine;
  readonly thread: TranslationThread;
  readonly judge: TargetJudge;
  readonly units: UnitSource;
  readonly offers: TargetOffers;
  readonly clock: Clock;
}

/** Most units that the result of the task names. */
const NAMED_UNITS = 1000;
/** Most findings that it names in sum and of one unit, and their longest message, in UTF-16 units. */
const NAMED_FINDINGS = 1000;
const NAMED_FINDINGS_OF_UNIT = 5;
const NAMED_CHARACTERS = 300;

/** Creates the action `translation-task-update`. */
export function createUpdateAction(options: UpdateActionOptions): DefinedAction {
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

interface JudgedUpdate {
  readonly update: TaskUpdate;
  /** One for each result of the update. */
  readonly sources: readonly SourceUnit[];
}

async function runUpdate(options: UpdateActionOptions, wanted: TaskUpdate): Promise<TaskResult> {
  const { thread } = options;
  const examined = requireAccepted(await thread.examineUpdate(wanted));
  const { update, sources } = await judgeUpdate(options, wanted, examined);
  const done = requireAccepted(await thread.applyUpdate(update));
  const isKnown = wanted.isTrial || (await offerWritten(options, { update, sources }, done));
  return {
    ...(wanted.isTrial ? { dry_run: true } : {}),
    task: done.task,
    written: done.written.length,
    repeated: done.repeated,
    units: writtenUnits(update, done),
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
  for (const { indexPosition, wasProofread, units: placed } of containers) {
    const ordinals = placed.map(({ ordinal }) => ordinal);
    const found = await units.unitsOf({ ...builtFor, indexPosition, ordinals, neighbours: 1 });
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
