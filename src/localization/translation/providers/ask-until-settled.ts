import { smallerBatches } from '../../../domain/translation/batches.ts';
import { failure, type Result } from '../../../domain/result.ts';
import type { TranslationOutcome, UnitToTranslate } from './provider.ts';
import {
  PROVIDER_FAILURES,
  ProviderError,
  type FailedUnit,
  type ProviderFailureCode,
} from './provider-failure.ts';

/** Why a row of an answer cannot be used. */
export interface RowFailure {
  readonly code: ProviderFailureCode;
  readonly message: string;
}

/** The rows of one answer by unit. A unit without a row has none that is usable. */
export interface AnswerRows<Value = string> {
  readonly providerRunId: string | null;
  readonly rows: ReadonlyMap<string, Result<Value, RowFailure>>;
}

/**
 * Sends one request.
 *
 * @throws ProviderError; the reason of the signal
 */
type AskOnce<Unit, Value> = (units: readonly Unit[]) => Promise<AnswerRows<Value>>;

interface SettledUnit<Value> {
  readonly unitId: string;
  readonly value: Value;
  /** The id that the provider gave the answer; `null` when it gave none. */
  readonly providerRunId: string | null;
}

interface Settled<Value> {
  readonly results: readonly SettledUnit<Value>[];
  readonly failures: readonly FailedUnit[];
}

const SINGLE_ATTEMPTS = 2;
const NO_ROW: RowFailure = {
  code: 'answer_malformed',
  message: 'the answer has no row for this unit whose id and source fit',
};

/**
 * Asks for units until each has an answer or has failed. Good rows are kept; only the others are asked again, in
 * smaller requests, and at last each alone and twice. Trouble that has nothing to do with units ends it: units without a
 * result share that failure.
 *
 * @param batches the first requests; none is empty
 * @returns each unit once
 * @throws the reason of the signal
 */
export async function askUntilSettled<Unit extends { readonly unitId: string }, Value>(
  batches: Iterable<readonly Unit[]>,
  ask: AskOnce<Unit, Value>,
): Promise<Settled<Value>> {
  const results: SettledUnit<Value>[] = [];
  const failures: FailedUnit[] = [];
  const aloneCount = new Map<string, number>();
  const queue = [...batches];

  const askAgain = (asked: readonly Unit[], left: readonly Unit[], why: RowsWhy): void => {
    const [only] = asked;
    if (asked.length === 1 && only !== undefined) {
      const attempts = (aloneCount.get(only.unitId) ?? 0) + 1;
      aloneCount.set(only.unitId, attempts);
      if (attempts >= SINGLE_ATTEMPTS) {
        failures.push({ unitId: only.unitId, ...why(only.unitId), retryAfterMs: null });
        return;
      }
    }
    if (left.length > 0) queue.unshift(...smallerBatches(asked.length, left));
  };

  for (let asked = queue.shift(); asked !== undefined; asked = queue.shift()) {
    try {
      const answer = await ask(asked);
      const left = asked.filter(({ unitId }) => {
        const row = answer.rows.get(unitId);
        if (row?.ok !== true) return true;
        results.push({ unitId, value: row.value, providerRunId: answer.providerRunId });
        return false;
      });
      if (left.length > 0) askAgain(asked, left, (unitId) => failureOf(answer.rows.get(unitId)));
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      const { code, message, retryAfterMs } = error;
      if (PROVIDER_FAILURES[code] === 'unit') {
        askAgain(asked, asked, () => ({ code, message }));
        continue;
      }
      for (const { unitId } of [asked, ...queue].flat())
        failures.push({ unitId, code, message, retryAfterMs });
      break;
    }
  }
  return { results, failures };
}

/** The same for translations. */
export async function translateUntilSettled(
  batches: Iterable<readonly UnitToTranslate[]>,
  ask: AskOnce<UnitToTranslate, string>,
): Promise<{
  readonly results: TranslationOutcome['results'];
  readonly failures: readonly FailedUnit[];
}> {
  const { results, failures } = await askUntilSettled(batches, async (units) => {
    const answer = await ask(units);
    return { ...answer, rows: new Map([...answer.rows].map(([unitId, row]) => [unitId, storable(row)])) };
  });
  return {
    results: results.map(({ unitId, value, providerRunId }) => ({
      unitId,
      translatedText: value,
      providerRunId,
    })),
    failures,
  };
}

/** No database keeps half of a surrogate pair: it would become another character. */
function storable(row: Result<string, RowFailure>): Result<string, RowFailure> {
  if (!row.ok || row.value.isWellFormed()) return row;
  return failure({ code: 'answer_malformed', message: 'the translation has half of a surrogate pair' });
}

type RowsWhy = (unitId: string) => RowFailure;

function failureOf(row: Result<unknown, RowFailure> | undefined): RowFailure {
  return row?.ok === false ? row.error : NO_ROW;
}
