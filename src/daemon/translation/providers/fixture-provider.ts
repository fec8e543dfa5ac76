import { setImmediate } from 'node:timers/promises';
import { splitIntoBatches } from '../../../domain/translation/batches.ts';
import { failure, success, type Result } from '../../../domain/result.ts';
import { askUntilSettled, type AnswerRows, type RowFailure } from './ask-until-settled.ts';
import type { FixtureFile, FixtureItem } from './fixture-file.ts';
import type { ProviderConfiguration } from './provider-config.ts';
import { ProviderTrouble, type ProviderFailureCode } from './provider-failure.ts';
import { LOCAL_STEP, type TranslationProvider, type UnitToTranslate } from './provider.ts';
import { NO_USAGE } from './spending.ts';

const FAILURES: Readonly<Record<NonNullable<FixtureItem['fail']>, ProviderFailureCode>> = {
  timeout: 'provider_timeout',
  '429': 'provider_throttled',
  '500': 'provider_error',
  malformed: 'answer_malformed',
};

/** Items that are sorted in before the event loop has its turn. */
const STEP_ITEMS = 5000;

/** A failure to play, with how often it is left. */
interface Script {
  readonly code: ProviderFailureCode;
  left: number;
}

/** Items by unit and by source. */
interface Lookup<Value> {
  readonly byUnit: Map<string, Value>;
  readonly bySource: Map<string, Value>;
}

/**
 * Makes the provider that translates from a file: by unit id, then by source. A unit whose source is another one than the item says is not taken by
 * its id. Items with `fail` make requests with that unit fail, each as often as it says.
 */
export async function createFixtureProvider(
  name: string,
  config: ProviderConfiguration,
  { items, blake3 }: FixtureFile,
  signal: AbortSignal,
): Promise<TranslationProvider> {
  const translations: Lookup<FixtureItem> = { byUnit: new Map(), bySource: new Map() };
  const scripts: Lookup<Script> = { byUnit: new Map(), bySource: new Map() };
  for (const [index, item] of items.entries()) {
    if (index % STEP_ITEMS === STEP_ITEMS - 1) {
      await setImmediate();
      signal.throwIfAborted();
    }
    if (item.fail === undefined) add(translations, item, item);
    else add(scripts, item, { code: FAILURES[item.fail], left: item.times ?? 1 });
  }
  const { limits } = config;
  const size = { units: limits.batchUnits, characters: limits.batchCharacters };
  const providerRunId = `fixture:${blake3}`;

  const answer = (units: readonly UnitToTranslate[]): AnswerRows => {
    for (const { unitId, sourceText } of units) {
      const script = scripts.byUnit.get(unitId) ?? scripts.bySource.get(sourceText);
      if (script === undefined || script.left === 0) continue;
      script.left -= 1;
      throw new ProviderTrouble(script.code, `the fixture plays the failure ${script.code}`);
    }
    return {
      providerRunId,
      rows: new Map(units.map((unit) => [unit.unitId, translate(unit, translations)])),
    };
  };

  return {
    name,
    kind: 'fixture',
    model: null,
    promptDigest: null,
    stepSize: LOCAL_STEP,
    hasPrices: false,
    estimate: ({ units }) => ({ ...NO_USAGE, characters: charactersOf(units) }),
    translateBatch: async ({ units, signal }) => {
      signal.throwIfAborted();
      const settled = await askUntilSettled(
        splitIntoBatches(units, size),
        async (asked) => await Promise.resolve(asked).then(answer),
      );
      return { ...settled, usage: { ...NO_USAGE, characters: charactersOf(units) } };
    },
  };
}

function add<Value>({ byUnit, bySource }: Lookup<Value>, item: FixtureItem, value: Value): void {
  if (item.unit_id !== undefined && !byUnit.has(item.unit_id)) byUnit.set(item.unit_id, value);
  if (item.source_text !== undefined && !bySource.has(item.source_text))
    bySource.set(item.source_text, value);
}

function translate(
  { unitId, sourceText }: UnitToTranslate,
  { byUnit, bySource }: Lookup<FixtureItem>,
): Result<string, RowFailure> {
  const own = byUnit.get(unitId);
  const isOfThisText = own !== undefined && (own.source_text ?? sourceText) === sourceText;
  const found = isOfThisText ? own : bySource.get(sourceText);
  if (found?.translated_text !== undefined) return success(found.translated_text);
  return failure({ code: 'not_in_fixture', message: 'the fixture has no translation of this unit' });
}

function charactersOf(units: readonly UnitToTranslate[]): number {
  return units.reduce((sum, { sourceText }) => sum + sourceText.length, 0);
}
