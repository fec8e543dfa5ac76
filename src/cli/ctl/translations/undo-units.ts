import { UNDO_PROVIDER } from '../../../contract/actions/provider-names.ts';
import { decideUndo, type UndoChoice, type UndoDecision } from '../../../domain/translation/undo-decision.ts';
import type { AdminApi } from '../admin-api.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { readHistory } from './find-units.ts';
import { knownUnit, type KnownUnit } from './match-units.ts';
import { unitPages, withOneIndex } from './service-pages.ts';
import { sendWhileFree, type PlacedTarget } from './send-while-free.ts';
import { updateBatches, type UpdateFields } from './task-updates.ts';
import { mayUndo } from './undo-plan.ts';
import type { UnitQuery } from './unit-query.ts';

interface UndoOptions extends UndoChoice, UnitQuery {
  readonly isTrial: boolean;
  /** Asked before anything is changed; throws unless the answer is yes. */
  readonly confirm: (targets: number) => Promise<void>;
  readonly fields: UpdateFields;
  readonly progress: (text: string) => void;
}

/** The outcome of one unit. */
export interface UndoOutcome {
  readonly unit_id: string;
  readonly task_id: string;
  readonly outcome: 'restored' | 'taken_back' | 'left' | 'refused' | 'not_sent';
  readonly detail: string;
  /** The target that comes back; empty for none. */
  readonly target_text: string;
}

interface UndoResult {
  readonly outcomes: readonly UndoOutcome[];
  /** Why the undo ended before its end; `null` when it did not. */
  readonly failure: CtlFailure | null;
}

interface UndoTarget extends PlacedTarget {
  readonly outcome: 'restored' | 'taken_back';
}

/** The chosen units are in memory until their histories are read. */
const MAX_UNITS = 200_000;

/**
 * Takes stored targets back, and restores the targets before them as drafts.
 *
 * @throws CtlFailure before anything was changed
 */
export async function undoUnits(api: AdminApi, options: UndoOptions): Promise<UndoResult> {
  const chosen = await withOneIndex(async () => await chosenUnits(api, options));
  const outcomes: UndoOutcome[] = [];
  const targets: UndoTarget[] = [];
  for (const [at, unit] of chosen.entries()) {
    const history = unit.isCut ? null : await readHistory(api, unit.place);
    const decision =
      history === null ? UNREADABLE : decideUndo(history, unit.sourceText, options, UNDO_PROVIDER);
    if (decision.kind === 'restore') targets.push(targetOf(unit, decision.text));
    else if (decision.why !== 'not chosen') {
      outcomes.push(outcomeOf(targetOf(unit, unit.targetText ?? ''), 'left', decision.why));
    }
    options.progress(`reading histories: ${at + 1} of ${chosen.length}`);
  }
  if (options.isTrial) {
    for (const target of targets) outcomes.push(outcomeOf(target, target.outcome));
    return { outcomes, failure: null };
  }
  if (targets.length > 0) await options.confirm(targets.length);
  const failure = await send(api, targets, options, outcomes);
  return { outcomes, failure };
}

async function chosenUnits(api: AdminApi, options: UndoOptions): Promise<KnownUnit[]> {
  const chosen: KnownUnit[] = [];
  let seen = 0;
  for await (const page of unitPages(api, options.query)) {
    for (const unit of page.units) {
      const known = mayUndo(unit, options) ? knownUnit(unit) : null;
      const isWanted = options.taskId === null || known?.taskId === options.taskId;
      if (known !== null && isWanted) chosen.push(known);
    }
    if (chosen.length > MAX_UNITS) {
      throw new CtlFailure(
        CTL_EXITS.usage,
        `more than ${MAX_UNITS} units fit; take them back in parts with --destination or --task`,
      );
    }
    seen += page.units.length;
    options.progress(`looking for units: ${seen} of ${page.total} read`);
  }
  return chosen;
}

/** Texts that are longer than reports show, and a place that several units share. */
const UNREADABLE: UndoDecision = { kind: 'none', why: 'history not readable' };

function targetOf(unit: KnownUnit, text: string): UndoTarget {
  const { unitId, taskId, sourceText, revision, place } = unit;
  const outcome = text === '' ? 'taken_back' : 'restored';
  return { unitId, taskId, sourceText, revision, place, text, outcome };
}

async function send(
  api: AdminApi,
  targets: readonly UndoTarget[],
  { fields, progress }: UndoOptions,
  outcomes: UndoOutcome[],
): Promise<CtlFailure | null> {
  let failure: CtlFailure | null = null;
  for (const batch of updateBatches(targets)) {
    if (failure !== null) {
      for (const target of batch.targets) outcomes.push(outcomeOf(target, 'not_sent'));
      continue;
    }
    try {
      const { stored, same, changed } = await sendWhileFree(api, batch, fields);
      for (const target of [...stored.map((each) => each.target), ...same]) {
        outcomes.push(outcomeOf(target, target.outcome));
      }
      for (const target of changed) outcomes.push(outcomeOf(target, 'left', 'changed meanwhile'));
    } catch (error) {
      if (!(error instanceof CtlFailure)) throw error;
      for (const target of batch.targets) outcomes.push(outcomeOf(target, 'refused', error.message));
      failure = error;
    }
    progress(`taking back: ${outcomes.length} units done`);
  }
  return failure;
}

function outcomeOf(
  { unitId, taskId, text }: UndoTarget,
  outcome: UndoOutcome['outcome'],
  detail = '',
): UndoOutcome {
  return { unit_id: unitId, task_id: taskId, outcome, detail, target_text: text };
}
