import { withProgress } from '../../output/progress-display.ts';
import type { AdminApi } from '../admin-api.ts';
import type { CtlContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { countText } from '../../../domain/count-text.ts';
import { findUnits, readTasks } from './find-units.ts';
import {
  plannedOutcome,
  planImport,
  readableUnits,
  type PlannedUnit,
  unfinishedTasks,
} from './import-plan.ts';
import { blockingText, findingsText, isProblem, type UnitOutcome } from './outcomes.ts';
import { patientReads } from './patient-reads.ts';
import type { ServiceTask } from './service-pages.ts';
import { settleDoubt } from './settle-doubt.ts';
import { isRefusal, sendWhileFree, type PlacedTarget, type SentBatch } from './send-while-free.ts';
import {
  finishTask,
  updateBatches,
  type UpdateBatch,
  type UpdatedUnit,
  type UpdateFields,
} from './task-updates.ts';
import { inFileOrder, type UnitFile } from './unit-file.ts';

export interface ImportOptions {
  readonly file: UnitFile;
  /** The state that the targets get; `translated` needs complete tasks. */
  readonly status: 'in_progress' | 'translated';
  /** Whether the units without a problem are stored when others have one. */
  readonly isPartial: boolean;
  readonly isTrial: boolean;
  readonly fields: UpdateFields;
}

/** The result of an import. */
export interface ImportResult {
  readonly releaseId: string;
  /** One for each unit of the file, in the order of its lines. */
  readonly outcomes: readonly UnitOutcome[];
  /** Calls that store targets, one or several for each task. Each call is atomic; the file is not. */
  readonly calls: { readonly planned: number; readonly made: number };
  readonly finished: readonly string[];
  readonly unfinished: readonly string[];
  /** Why the import ended before its end; `null` when it did not. */
  readonly failure: CtlFailure | null;
}

/**
 * Brings the targets of a file into the tasks of the current release. Everything is checked first, also by the daemon, which judges
 * the targets without storing them.
 *
 * @throws CtlFailure before anything was stored
 */
export async function importUnits(context: CtlContext, options: ImportOptions): Promise<ImportResult> {
  return await withProgress(
    context,
    async (display) => await importShown(patientReads(context), options, (text) => display.show(text)),
  );
}

async function importShown(
  api: AdminApi,
  options: ImportOptions,
  progress: (text: string) => void,
): Promise<ImportResult> {
  const { file, fields } = options;
  const { units, problems } = readableUnits(file.results);
  const { index, matcher } = await findUnits(api, units, progress);
  const plan = planImport(units, (unit) => matcher.resultOf(unit), fields.worker_id ?? null);
  const tasks = await readTasks(api, index.releaseId, plan.taskIds);
  const settled = await settleDoubt(api, plan.doubtful, progress);
  const { open, closed } = byTask([...plan.send, ...settled.send], tasks);
  const run = new ImportRun(api, options, progress, [
    ...problems,
    ...plan.done,
    ...closed,
    ...settled.outcomes,
  ]);
  const judged = options.isTrial || run.mayGoOn() ? await run.judge(open) : open;
  const unfinished =
    options.status === 'translated' ? unfinishedTasks([...tasks.values()], judged) : new Map();
  if (!options.isTrial && run.mayGoOn() && (options.isPartial || unfinished.size === 0)) {
    await run.store(judged);
    if (options.status === 'translated') {
      const sentTo = new Set(judged.map(({ unit }) => unit.taskId));
      await run.finish(
        [...tasks.values()].filter((task) => canFinish(task, sentTo) && !unfinished.has(task.task_id)),
      );
    }
  }
  run.leave(judged);
  return { releaseId: index.releaseId, ...run.result(), unfinished: [...unfinished.values()] };
}

class ImportRun {
  readonly outcomes: UnitOutcome[];
  readonly #api: AdminApi;
  readonly #options: ImportOptions;
  readonly #progress: (text: string) => void;
  readonly #finished: string[] = [];
  readonly #settled = new Set<PlannedUnit>();
  #calls = { planned: 0, made: 0 };
  #failure: CtlFailure | null = null;

  constructor(
    api: AdminApi,
    options: ImportOptions,
    progress: (text: string) => void,
    outcomes: UnitOutcome[],
  ) {
    this.#api = api;
    this.#options = options;
    this.#progress = progress;
    this.outcomes = outcomes;
  }

  /** Whether targets may be sent: nothing has a problem, or the others are wanted anyway. */
  mayGoOn(): boolean {
    return this.#options.isPartial || !this.outcomes.some(({ outcome }) => isProblem(outcome));
  }

  /** Lets the daemon judge the targets. @returns those to store */
  async judge(planned: readonly PlannedUnit[]): Promise<PlannedUnit[]> {
    const kept: PlannedUnit[] = [];
    for (const batch of updateBatches(planned.map(targetOf))) {
      try {
        const { stored: judged, ...others } = await sendWhileFree(this.#api, batch, this.#options.fields, {
          isTrial: true,
        });
        for (const { target, unit } of judged) {
          if (this.#accept(target.planned, unit)) kept.push(target.planned);
        }
        this.#settleOthers(others);
      } catch (error) {
        if (!isRefusal(error)) throw error;
        for (const { planned: each } of batch.targets) this.#settle(each, 'refused', [], error.message);
      }
      this.#progress(`checking: ${kept.length} of ${planned.length} targets judged`);
    }
    return kept;
  }

  #accept(planned: PlannedUnit, judged: UpdatedUnit | undefined): boolean {
    const isBlocked = judged?.state === 'blocked';
    const findings = judged?.findings ?? [];
    if (this.#options.status === 'translated' && isBlocked) {
      this.#settle(planned, 'blocked', findings);
      return false;
    }
    if (this.#options.isTrial) this.#settle(planned, isBlocked ? 'ready_blocked' : 'ready', findings);
    return true;
  }

  /** Stores targets, call by call. It ends at the first call with a problem, unless parts are wanted. */
  async store(planned: readonly PlannedUnit[]): Promise<void> {
    const batches = [...updateBatches(planned.map(targetOf))];
    this.#calls = { planned: batches.length, made: 0 };
    for (const batch of batches) {
      const problem = await this.#storeBatch(batch);
      this.#progress(`sending: ${this.#calls.made} of ${this.#calls.planned} calls made`);
      if (problem === null || (this.#options.isPartial && isRefusal(problem))) continue;
      this.#failure = problem;
      return;
    }
  }

  /** Stores the targets of one call. @returns the problem that it had */
  async #storeBatch(batch: UpdateBatch<ImportTarget>): Promise<CtlFailure | null> {
    try {
      const { stored, ...others } = await sendWhileFree(this.#api, batch, this.#options.fields);
      for (const { target, unit } of stored) {
        const outcome = unit?.state === 'blocked' ? 'stored_blocked' : 'stored';
        const findings = unit?.findings ?? [];
        const detail = outcome === 'stored_blocked' ? blockingText(findings) : findingsText(findings);
        this.#settle(target.planned, outcome, findings, detail);
      }
      this.#settleOthers(others);
      // A call without a unit that is still to be stored is not made.
      if (stored.length > 0) this.#calls.made += 1;
      const changed = others.changed.length;
      if (changed === 0) return null;
      const message = `someone has changed ${countText(changed, 'unit')} while the import ran; their targets are kept`;
      return new CtlFailure(CTL_EXITS.failed, message);
    } catch (error) {
      if (!(error instanceof CtlFailure)) throw error;
      for (const { planned } of batch.targets) this.#settle(planned, 'refused', [], error.message);
      return error;
    }
  }

  #settleOthers({ same, changed }: Omit<SentBatch<ImportTarget>, 'stored'>): void {
    for (const { planned } of same) this.#settle(planned, 'unchanged', [], 'since the import began');
    for (const { planned } of changed)
      this.#settle(planned, 'conflict', [], 'while the import ran; export it again');
  }

  async finish(tasks: readonly ServiceTask[]): Promise<void> {
    if (this.#failure !== null) return;
    for (const { task_id: taskId } of tasks) {
      try {
        await finishTask(this.#api, taskId, this.#options.fields);
        this.#finished.push(taskId);
      } catch (error) {
        if (!(error instanceof CtlFailure)) throw error;
        this.#failure = error;
        return;
      }
    }
  }

  leave(planned: readonly PlannedUnit[]): void {
    for (const each of planned) {
      if (!this.#settled.has(each)) this.outcomes.push(plannedOutcome(each, 'not_sent'));
    }
  }

  result(): Omit<ImportResult, 'releaseId' | 'unfinished'> {
    return {
      outcomes: inFileOrder(this.outcomes, this.#options.file),
      calls: this.#calls,
      finished: this.#finished,
      failure: this.#failure,
    };
  }

  #settle(
    planned: PlannedUnit,
    outcome: UnitOutcome['outcome'],
    findings: UnitOutcome['findings'],
    detail = findingsText(findings),
  ): void {
    this.#settled.add(planned);
    this.outcomes.push(plannedOutcome(planned, outcome, detail, findings));
  }
}

function byTask(
  planned: readonly PlannedUnit[],
  tasks: ReadonlyMap<string, ServiceTask>,
): { readonly open: readonly PlannedUnit[]; readonly closed: readonly UnitOutcome[] } {
  const open: PlannedUnit[] = [];
  const closed: UnitOutcome[] = [];
  for (const each of planned) {
    const status = tasks.get(each.unit.taskId)?.status ?? 'superseded';
    const isOpen = !CLOSED.has(status);
    if (isOpen) open.push(each);
    else closed.push(plannedOutcome(each, 'task_closed', `${each.unit.taskId} is ${status}`));
  }
  return { open, closed };
}

/** Whether a task is to become `translated`. A review that nothing has changed stays. */
function canFinish({ status, task_id }: ServiceTask, sentTo: ReadonlySet<string>): boolean {
  return !CLOSED.has(status) && (status !== 'proofread' || sentTo.has(task_id));
}

const CLOSED: ReadonlySet<string> = new Set(['skipped']);

interface ImportTarget extends PlacedTarget {
  readonly planned: PlannedUnit;
}

function targetOf(planned: PlannedUnit): ImportTarget {
  const { unit, text } = planned;
  const { unitId, taskId, sourceText, revision, place } = unit;
  return { planned, unitId, taskId, sourceText, text, revision, place };
}
