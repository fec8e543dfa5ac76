import { smallerBatches } from '../../../domain/translation/batches.ts';
import { failure, type Result } from '../../../domain/result.ts';
import type { FailedUnit, TranslatedUnit, UnitToTranslate } from './provider.ts';
import { PROVIDER_FAILURES, ProviderTrouble, type ProviderFailureCode } from './provider-failure.ts';

/** Why a row of an answer cannot be used. */
export interface RowFailure {
  readonly code: ProviderFailureCode;
  readonly message: string;
}

/** The rows of one answer by unit. A unit without a row has none that is usable. */
export interface AnswerRows {
  readonly providerRunId: string | null;
  readonly rows: ReadonlyMap<string, Result<string, RowFailure>>;
}

/**
 * Sends one request.
 *
 * @throws ProviderTrouble; the reason of the signal
 */
type AskOnce = (units: readonly UnitToTranslate[]) => Promise<AnswerRows>;

interface Settled {
  readonly results: readonly TranslatedUnit[];
  readonly failures: readonly FailedUnit[];
}

/** How often a unit is asked alone. */
const SINGLE_ATTEMPTS = 2;
const NO_ROW: RowFailure = {
  code: 'answer_malformed',
  message: 'the answer has no row for this unit whose id and source fit',
};

/**
 * Asks for units until each has a translation or has failed. Good rows are kept; only the others are asked again, in
 * smaller requests, and at last each alone and twice. Trouble that has nothing to do with units ends it: units without a
 * result share that failure.
 *
 * @param batches the first requests; none is empty
 * @returns each unit once
 * @throws the reason of the signal
 */
export async function askUntilSettled(
  batches: Iterable<readonly UnitToTranslate[]>,
  ask: AskOnce,
): Promise<Settled> {
  const results: TranslatedUnit[] = [];
  const failures: FailedUnit[] = [];
  const aloneCount = new Map<string, number>();
  const queue = [...batches];

  const askAgain = (
    asked: readonly UnitToTranslate[],
    left: readonly UnitToTranslate[],
    why: RowsWhy,
  ): void => {
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
        const row = storable(answer.rows.get(unitId));
        if (row?.ok !== true) return true;
        results.push({ unitId, translatedText: row.value, providerRunId: answer.providerRunId });
        return false;
      });
      if (left.length > 0) askAgain(asked, left, (unitId) => failureOf(storable(answer.rows.get(unitId))));
    } catch (error) {
      if (!(error instanceof ProviderTrouble)) throw error;
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

type RowsWhy = (unitId: string) => RowFailure;

/** No database keeps half of a surrogate pair: it would become another character. */
function storable(row: Result<string, RowFailure> | undefined): Result<string, RowFailure> | undefined {
  if (row?.ok !== true || row.value.isWellFormed()) return row;
  return failure({ code: 'answer_malformed', message: 'the translation has half of a surrogate pair' });
}

function failureOf(row: Result<string, RowFailure> | undefined): RowFailure {
  return row?.ok === false ? row.error : NO_ROW;
}
