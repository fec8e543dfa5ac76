import { setImmediate } from 'node:timers/promises';
import { placeFindings, type EvaluationFinding } from '../../../domain/translation/evaluation-finding.ts';
import { failure, success, type Result } from '../../../domain/result.ts';
import {
  askUntilSettled,
  translateUntilSettled,
  type AnswerRows,
  type AskOptions,
  type RowFailure,
} from './ask-until-settled.ts';
import type { UnitToEvaluate } from './evaluation.ts';
import type { FixtureFile, FixtureItem } from './fixture-file.ts';
import type { ProviderConfiguration } from './provider-config.ts';
import { ProviderError, type ProviderFailureCode } from './provider-failure.ts';
import { LOCAL_STEP, NO_MODEL, type TranslationProvider } from './provider.ts';
import { NO_USAGE, type Usage } from './spending.ts';

const FAILURES: Readonly<Record<NonNullable<FixtureItem['fail']>, ProviderFailureCode>> = {
  timeout: 'provider_timeout',
  '429': 'provider_throttled',
  '500': 'provider_error',
  malformed: 'answer_malformed',
};

/** Items that are sorted in before the event loop has its turn. */
const STEP_ITEMS = 5000;

interface Script {
  readonly code: ProviderFailureCode;
  left: number;
}

interface Text {
  readonly unitId: string;
  readonly sourceText: string;
}

interface Lookup<Value> {
  readonly byUnit: Map<string, Value>;
  readonly bySource: Map<string, Value>;
}

/**
 * Makes the provider that translates from a file: by unit id, then by source. A unit whose source is another one than the item says is not taken by
 * its id. An evaluation finds what items have in `findings`, and nothing in other units. Items with `fail` make requests with that
 * unit fail, each as often as it says.
 */
export async function createFixtureProvider(
  name: string,
  config: ProviderConfiguration,
  { items, blake3 }: FixtureFile,
  signal: AbortSignal,
): Promise<TranslationProvider> {
  const translations: Lookup<FixtureItem> = { byUnit: new Map(), bySource: new Map() };
  const evaluations: Lookup<FixtureItem> = { byUnit: new Map(), bySource: new Map() };
  const scripts: Lookup<Script> = { byUnit: new Map(), bySource: new Map() };
  for (const [index, item] of items.entries()) {
    if (index % STEP_ITEMS === STEP_ITEMS - 1) {
      await setImmediate();
      signal.throwIfAborted();
    }
    if (item.translated_text !== undefined) add(translations, item, item);
    if (item.findings !== undefined) add(evaluations, item, item);
    if (item.fail !== undefined) add(scripts, item, { code: FAILURES[item.fail], left: item.times ?? 1 });
  }
  const { batchUnits, batchCharacters, requestsPerUnit } = config.limits;
  const size = { units: batchUnits, characters: batchCharacters };
  const options = (counts: AskOptions['counts'], signal: AbortSignal): AskOptions => ({
    size,
    requestsPerUnit,
    counts,
    breaker: null,
    signal,
  });
  const providerRunId = `fixture:${blake3}`;

  /** Plays the failures of units. @throws ProviderError */
  const play = (units: readonly Text[]): void => {
    for (const { unitId, sourceText } of units) {
      const script = scripts.byUnit.get(unitId) ?? scripts.bySource.get(sourceText);
      if (script === undefined || script.left === 0) continue;
      script.left -= 1;
      throw new ProviderError(script.code, `the fixture simulates the failure ${script.code}`);
    }
  };
  /** Answers a request from the items. */
  const answer =
    <Unit extends Text, Value>(answerOf: (unit: Unit) => Result<Value, RowFailure>) =>
    async (units: readonly Unit[]): Promise<AnswerRows<Value>> =>
      await Promise.resolve().then(() => {
        play(units);
        return { providerRunId, rows: new Map(units.map((unit) => [unit.unitId, answerOf(unit)])) };
      });
  const estimate = ({ units }: { readonly units: readonly Text[] }): Usage => ({
    ...NO_USAGE,
    characters: charactersOf(units),
  });

  return {
    name,
    kind: 'fixture',
    ...NO_MODEL,
    stepSize: LOCAL_STEP,
    requestsPerUnit: 0,
    estimate,
    beginRun: () => undefined,
    translateBatch: async ({ units, counts, signal }) => {
      signal.throwIfAborted();
      const ask = answer((unit: Text) => translate(unit, translations));
      const settled = await translateUntilSettled(units, options(counts, signal), ask);
      return { ...settled, usage: estimate({ units }) };
    },
    evaluator: {
      estimate,
      evaluate: async ({ units, signal }) => {
        signal.throwIfAborted();
        const ask = answer((unit: UnitToEvaluate) => success(evaluate(unit, evaluations)));
        const { results, failures } = await askUntilSettled(units, options(new Map(), signal), ask);
        return {
          results: results.map(({ unitId, value }) => ({ unitId, findings: value })),
          failures,
          usage: estimate({ units }),
        };
      },
    },
  };
}

function add<Value>({ byUnit, bySource }: Lookup<Value>, item: FixtureItem, value: Value): void {
  if (item.unit_id !== undefined && !byUnit.has(item.unit_id)) byUnit.set(item.unit_id, value);
  if (item.source_text !== undefined && !bySource.has(item.source_text))
    bySource.set(item.source_text, value);
}

/** The item of a unit. One whose source is another text is not taken by its id. */
function itemOf(
  { unitId, sourceText }: Text,
  { byUnit, bySource }: Lookup<FixtureItem>,
): FixtureItem | undefined {
  const own = byUnit.get(unitId);
  const isOfThisText = own !== undefined && (own.source_text ?? sourceText) === sourceText;
  return isOfThisText ? own : bySource.get(sourceText);
}

function translate(unit: Text, translations: Lookup<FixtureItem>): Result<string, RowFailure> {
  const found = itemOf(unit, translations);
  if (found?.translated_text !== undefined) return success(found.translated_text);
  return failure({ code: 'not_in_fixture', message: 'the fixture has no translation of this unit' });
}

function evaluate(unit: UnitToEvaluate, evaluations: Lookup<FixtureItem>): readonly EvaluationFinding[] {
  return placeFindings(itemOf(unit, evaluations)?.findings ?? [], unit.targetText);
}

function charactersOf(units: readonly Text[]): number {
  return units.reduce((sum, { sourceText }) => sum + sourceText.length, 0);
}
