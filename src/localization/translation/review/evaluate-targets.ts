import { splitIntoBatches } from '../../../domain/translation/batches.ts';
import type { LanguagePair } from '../../../domain/glossary/term.ts';
import { TaskError, type TaskResult } from '../../../engine/tasks/task.ts';
import { unitIdText } from '../../unit-id-text.ts';
import type { EvaluationOutcome, Evaluator, UnitToEvaluate } from '../providers/evaluation.ts';
import { askWithFallback } from '../providers/fallback.ts';
import { PROVIDER_FAILURES } from '../providers/provider-failure.ts';
import type { TranslationProvider } from '../providers/provider.ts';
import { placedText } from '../providers/script.ts';
import { addUsage, createSpending, fits, NO_USAGE, type SpendingCaps } from '../providers/spending.ts';
import type { EvaluatedTarget } from '../work/repetition/evaluated-targets.ts';
import type { ReviewPage, ReviewPlace } from '../work/review/review.ts';
import type { ProviderAccess, ProviderArguments } from '../worker/provider-access.ts';
import { reportedUsage } from '../worker/run-tally.ts';
import { placed, reviewPages, sourcesOf, type ReviewPorts } from './review-pages.ts';

export interface EvaluationPorts extends ReviewPorts {
  readonly providers: ProviderAccess;
  readonly languages: () => LanguagePair;
}

/** The evaluation of targets by a provider. It adds findings, and neither changes nor accepts a target. */
interface Evaluation {
  readonly isTrial: boolean;
  /**
   * Evaluates the collected targets of a review, and stores the findings of each batch.
   *
   * @param after the place after which it begins; `null`: with the first one
   * @param onEvaluated hears the last place of each batch; not called in a trial
   * @returns whether all were asked; false when the next request does not fit under the caps
   * @throws TaskError with the code of the provider, and `report` as its details, when it cannot be used; the signal's reason
   */
  evaluate(
    reviewId: string,
    after: ReviewPlace | null,
    onEvaluated: (place: ReviewPlace) => Promise<void>,
  ): Promise<boolean>;
  /** The counts and the usage until now, as the result of the task shows them. */
  report(): TaskResult;
}

/**
 * Opens the provider of an evaluation.
 *
 * @throws ServiceError and TaskError of the provider
 */
export async function openEvaluation(
  ports: EvaluationPorts,
  args: ProviderArguments & { readonly dry_run?: boolean | undefined },
  signal: AbortSignal,
): Promise<Evaluation> {
  const chosen = await ports.providers.choose(args, 'evaluation');
  const provider = await ports.providers.open(chosen, signal);
  const { evaluator } = provider;
  if (evaluator === null) {
    throw new TaskError('provider_not_configured', `the provider "${provider.name}" cannot evaluate`);
  }
  provider.beginRun();
  provider.fallback?.beginRun();
  const spending = createSpending(chosen);
  const { sourceLanguage, targetLanguage } = ports.languages();
  const isTrial = args.dry_run ?? false;
  const tally = createTally(provider, isTrial ? chosen : null);
  /** @returns false at a cap */
  const ask = async (units: readonly EvaluatedUnit[]): Promise<boolean> => {
    const request = { sourceLanguage, targetLanguage, units };
    if (isTrial) {
      tally.usage = addUsage(tally.usage, evaluator.estimate(request));
      tally.evaluated += units.length;
      return true;
    }
    const second = provider.fallback?.evaluator ?? null;
    const evaluate = async (some: readonly UnitToEvaluate[], by: Evaluator): Promise<EvaluationOutcome> => {
      const hasFallback = second !== null && by === evaluator;
      return await by.evaluate({ ...request, units: some, spending, hasFallback, signal });
    };
    const outcomes = await askWithFallback(
      units,
      async (some) => await evaluate(some, evaluator),
      second === null ? null : async (some) => await evaluate(some, second),
    );
    const outcome = {
      results: outcomes.flatMap(({ results }) => results),
      failures: outcomes.flatMap(({ failures }) => failures),
      usage: outcomes.map(({ usage }) => usage).reduce(addUsage, NO_USAGE),
    };
    const stored = await ports.thread.storeEvaluated(foundIn(units, outcome), { signal });
    tally.add(outcome, stored);
    const trouble = outcome.failures.find(({ code }) => PROVIDER_FAILURES[code] !== 'unit');
    if (trouble === undefined) return true;
    tally.stopped = trouble.code;
    if (trouble.code === 'cap_reached') return false;
    throw new TaskError(trouble.code, trouble.message, { details: tally.report() });
  };
  return {
    isTrial,
    evaluate: async (reviewId, after, onEvaluated) => {
      for await (const page of reviewPages(ports.thread, reviewId, signal, after)) {
        const units = await unitsOf(ports, page, signal);
        for (const batch of splitIntoBatches(units, provider.stepSize)) {
          signal.throwIfAborted();
          if (!(await ask(batch))) return false;
          const last = batch.at(-1);
          if (!isTrial && last !== undefined)
            await onEvaluated({ taskSeq: page.taskSeq, number: last.number });
        }
      }
      return true;
    },
    report: tally.report,
  };
}

interface EvaluatedUnit extends UnitToEvaluate {
  readonly id: Uint8Array;
  readonly number: number;
}

async function unitsOf(
  { units }: EvaluationPorts,
  page: ReviewPage,
  signal: AbortSignal,
): Promise<readonly EvaluatedUnit[]> {
  const sources = await sourcesOf(units, page, signal);
  return page.rows.map(({ unitId, number, sourceText, text }, at) => {
    const source = placed(sources, at);
    return {
      id: unitId,
      number,
      unitId: unitIdText(unitId),
      sourceText,
      targetText: text,
      speaker: source.unit.speaker,
      ...placedText(source),
    };
  });
}

function foundIn(units: readonly EvaluatedUnit[], { results }: EvaluationOutcome): EvaluatedTarget[] {
  const found = new Map(results.map(({ unitId, findings }) => [unitId, findings]));
  return units.flatMap(({ id, unitId, targetText }) => {
    const findings = found.get(unitId);
    return findings === undefined ? [] : [{ unitId: id, text: targetText, findings }];
  });
}

/** @param caps of the run that a trial estimates; `null` when it is none */
function createTally({ name, model }: TranslationProvider, caps: SpendingCaps | null) {
  const failures = new Map<string, number>();
  const kinds = new Map<string, number>();
  const tally = {
    usage: NO_USAGE,
    evaluated: 0,
    units: 0,
    findings: 0,
    stopped: null as string | null,
    add: ({ results, failures: failed, usage }: EvaluationOutcome, stored: number): void => {
      tally.usage = addUsage(tally.usage, usage);
      tally.evaluated += stored;
      tally.units += results.filter(({ findings }) => findings.length > 0).length;
      tally.findings += results.reduce((sum, { findings }) => sum + findings.length, 0);
      for (const { kind } of results.flatMap(({ findings }) => findings))
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      for (const { code } of failed) failures.set(code, (failures.get(code) ?? 0) + 1);
    },
    report: (): TaskResult => ({
      provider: name,
      model,
      dry_run: caps !== null,
      evaluated: tally.evaluated,
      units_with_findings: tally.units,
      findings: tally.findings,
      findings_by_kind: Object.fromEntries(kinds),
      failures: Object.fromEntries(failures),
      usage: reportedUsage(tally.usage),
      ...(caps === null ? {} : { fits: fits(tally.usage, caps) }),
      stopped: tally.stopped,
    }),
  };
  return tally;
}
