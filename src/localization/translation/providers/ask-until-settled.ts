import { smallerBatches, splitIntoBatches, type BatchSize } from '../../../domain/translation/batches.ts';
import { failure, type Result } from '../../../domain/result.ts';
import type { Breaker, Turn } from './breaker.ts';
import { NO_USAGE, addUsage, type Usage } from './spending.ts';
import type { RequestCounts, TranslationOutcome, UnitToTranslate } from './provider.ts';
import {
  FINAL_FAILURES,
  PROVIDER_FAILURES,
  ProviderError,
  isOfProvider,
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
  /** Trouble of the provider that ended the answer early, and the units that have no row for that reason. */
  readonly trouble?: { readonly error: ProviderError; readonly unitIds: ReadonlySet<string> };
}

/**
 * Sends one request.
 *
 * @throws ProviderError; the reason of the signal
 */
type AskOnce<Unit, Value> = (units: readonly Unit[]) => Promise<AnswerRows<Value>>;

/** How units are asked for. */
export interface AskOptions {
  readonly size: BatchSize;
  /** Most requests about one unit in a run beyond the first. */
  readonly requestsPerUnit: number;
  readonly counts: RequestCounts;
  /** `null` for a provider that is asked without a network. */
  readonly breaker: Breaker | null;
  /** Longest wait for a request; absent: the usual one of the provider. */
  readonly longestWaitMs?: number | undefined;
  readonly signal: AbortSignal;
}

interface AskedUnit {
  readonly unitId: string;
  readonly sourceText: string;
}

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

const NO_ROW: RowFailure = {
  code: 'answer_malformed',
  message: 'the answer has no row with the id and source of this unit',
};

/**
 * Asks for units until each has an answer or has failed. Good rows are kept; only the others are asked again, in requests that halve
 * each time, and the last time alone. A failure that has nothing to do with units is tried again as the breaker allows, and ends it
 * when that opens: units without a result share the failure. A unit that the run has asked for often enough fails without a request.
 *
 * @returns each unit once
 * @throws the reason of the signal
 */
export async function askUntilSettled<Unit extends AskedUnit, Value>(
  units: readonly Unit[],
  options: AskOptions,
  ask: AskOnce<Unit, Value>,
): Promise<Settled<Value>> {
  const { breaker, counts, signal } = options;
  const results: SettledUnit<Value>[] = [];
  const failures: FailedUnit[] = [];
  const queue = firstBatches(units, options);
  /** The units that may be asked for once more; the others have failed. */
  const askable = (batch: readonly Unit[]): readonly Unit[] =>
    batch.filter(({ unitId }) => {
      if (!isAskedEnough(options, unitId)) return true;
      const reason = counts.get(unitId)?.reason ?? NO_ROW;
      failures.push({ unitId, ...reason, retryAfterMs: null, isFinal: true });
      return false;
    });
  const askedAlone = new Set<string>();

  /** Asks again about units without a usable row, except for those that were asked for often enough. */
  const askAgain = (
    asked: readonly Unit[],
    left: readonly Unit[],
    why: (unitId: string) => RowFailure,
  ): void => {
    const isAlone = asked.length === 1;
    const open = left.filter(({ unitId }) => {
      const reason = why(unitId);
      counts.set(unitId, { times: timesOf(counts, unitId), reason });
      const isFinal = isAskedEnough(options, unitId) || (isAlone && FINAL_FAILURES.has(reason.code));
      const isOver = isFinal || (isAlone && askedAlone.has(unitId));
      if (isOver) failures.push({ unitId, ...reason, retryAfterMs: null, isFinal });
      else if (isAlone) askedAlone.add(unitId);
      return !isOver;
    });
    queue.push(...nextBatches(asked, open, options));
  };

  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const batch = askable(next);
    if (batch.length === 0) continue;
    const { answered, answer, failed, error } = await askBatch(batch, queue, options, ask);
    if (answer !== null) {
      const { rows, providerRunId } = answer;
      const left = answered.filter(({ unitId }) => {
        const row = rows.get(unitId);
        if (row?.ok !== true) return true;
        results.push({ unitId, value: row.value, providerRunId });
        return false;
      });
      askAgain(answered, left, (unitId) => failureOf(rows.get(unitId)));
    }
    if (error === null) continue;
    const { code, message, retryAfterMs } = error;
    if (!isOfProvider(code)) askAgain(failed, failed, () => ({ code, message }));
    else if (canTryAgain(code, breaker)) queue.unshift(failed);
    else {
      for (const { unitId } of [failed, ...queue].flat())
        failures.push({ unitId, code, message, retryAfterMs, isFinal: false });
      break;
    }
  }
  signal.throwIfAborted();
  return { results, failures };
}

/** A request that timed out may have been carried out and paid for, so it is not sent again immediately. */
function canTryAgain(code: ProviderFailureCode, breaker: Breaker | null): boolean {
  const isTrouble = PROVIDER_FAILURES[code] === 'retry' && code !== 'provider_timeout';
  return isTrouble && breaker !== null && !breaker.isOpen();
}

function isAskedEnough({ counts, requestsPerUnit }: AskOptions, unitId: string): boolean {
  return timesOf(counts, unitId) > requestsPerUnit;
}

function timesOf(counts: RequestCounts, unitId: string): number {
  return counts.get(unitId)?.times ?? 0;
}

interface Asked<Unit, Value> {
  readonly answered: readonly Unit[];
  /** `null`: for none of the units. */
  readonly answer: AnswerRows<Value> | null;
  readonly failed: readonly Unit[];
  /** The failure of the failed ones; `null` when there are none. */
  readonly error: ProviderError | null;
}

const NOT_ANSWERED = { answered: [], answer: null } as const;

/** Sends one request when the breaker allows it: with one unit when the provider was out, and the others stay in the queue. */
async function askBatch<Unit extends AskedUnit, Value>(
  batch: readonly Unit[],
  queue: (readonly Unit[])[],
  options: AskOptions,
  ask: AskOnce<Unit, Value>,
): Promise<Asked<Unit, Value>> {
  const { breaker, counts, longestWaitMs, signal } = options;
  let units = batch;
  let turn: Turn | null = null;
  try {
    turn = (await breaker?.admit(signal, longestWaitMs)) ?? null;
    if (turn?.isProbe === true && batch.length > 1) {
      const small = smallest(batch, counts);
      units = [small];
      queue.unshift(batch.filter((unit) => unit !== small));
    }
    // One unit that has failed before says no more about the provider.
    const isAskedAgain = units.length === 1 && units.every(({ unitId }) => counts.has(unitId));
    const answer = await ask(units);
    return judgedAnswer(answer, units, isAskedAgain, turn, options);
  } catch (error) {
    if (!(error instanceof ProviderError)) {
      turn?.left();
      throw error;
    }
    if (PROVIDER_FAILURES[error.code] === 'unit') count(units, counts, error);
    return { ...NOT_ANSWERED, failed: units, error: judged(error, units.length, turn, breaker) };
  }
}

/**
 * Counts an answer and reports it to the breaker.
 *
 * @param isAskedAgain whether it is about one unit that has failed before
 */
function judgedAnswer<Unit extends AskedUnit, Value>(
  answer: AnswerRows<Value>,
  units: readonly Unit[],
  isAskedAgain: boolean,
  turn: Turn | null,
  { breaker, counts }: AskOptions,
): Asked<Unit, Value> {
  if (answer.trouble !== undefined) {
    const { error, unitIds } = answer.trouble;
    const answered = units.filter(({ unitId }) => !unitIds.has(unitId));
    const failed = units.filter(({ unitId }) => unitIds.has(unitId));
    count(answered, counts, null);
    return { answered, answer, failed, error: judged(error, failed.length, turn, breaker) };
  }
  const isKnown = breaker?.hasWorked() === true || (isAskedAgain && turn?.isProbe !== true);
  const says = verdictOf(answer.rows, units.length, isKnown);
  const useless =
    says === 'failed' ? new ProviderError('answer_malformed', firstFailure(answer.rows).message) : null;
  count(units, counts, useless);
  if (useless !== null)
    return { ...NOT_ANSWERED, failed: units, error: judged(useless, units.length, turn, breaker) };
  if (says === 'worked') turn?.worked();
  else turn?.left();
  return { answered: units, answer, failed: [], error: null };
}

/** @param why they were in vain; `null` leaves the reason of an earlier request */
function count(units: readonly AskedUnit[], counts: RequestCounts, why: RowFailure | null): void {
  for (const { unitId } of units) {
    const { times = 0, reason = null } = counts.get(unitId) ?? {};
    counts.set(unitId, {
      times: times + 1,
      reason: why === null ? reason : { code: why.code, message: why.message },
    });
  }
}

/**
 * What an answer says about its provider. One without a row for any of its units is useless as a whole.
 *
 * @param isKnown whether rows that cannot be used are the fault of their texts: other answers had good ones
 */
function verdictOf<Value>(
  rows: AnswerRows<Value>['rows'],
  asked: number,
  isKnown: boolean,
): 'worked' | 'failed' | 'nothing' {
  const codes = [...rows.values()].map((row) => (row.ok ? null : row.error.code));
  if (codes.some((code) => code === null || code === 'placeholders_changed')) return 'worked';
  if (isKnown && codes.includes('answer_malformed')) return 'nothing';
  const isMade = (code: ProviderFailureCode | null): boolean => code !== null && code !== 'answer_malformed';
  return codes.length === asked && codes.every(isMade) ? 'nothing' : 'failed';
}

/** Failures of one request that say nothing against the provider: another request may be accepted. */
const OF_THE_TEXTS: ReadonlySet<ProviderFailureCode> = new Set([
  'request_too_large',
  'request_refused',
  'answer_cut',
  'answer_refused',
]);

/** Tells the breaker about a failed request. @returns the failure of its units */
function judged(
  error: ProviderError,
  asked: number,
  turn: Turn | null,
  breaker: Breaker | null,
): ProviderError {
  const { code } = error;
  const disposition = PROVIDER_FAILURES[code];
  if (turn === null || breaker === null) return error;
  if (code === 'cap_reached' || disposition === 'leave') {
    turn.left();
    return error;
  }
  if (disposition === 'stop') {
    turn.failed(error);
    return error;
  }
  // A server that has refused everything so far refuses more than the texts.
  if (OF_THE_TEXTS.has(code) && (code !== 'request_refused' || breaker.hasWorked())) {
    turn.worked();
    return error;
  }
  // What the breaker repeats without a request is a failure of the provider, never of the units.
  const ofProvider = disposition === 'retry' ? error : asOfProvider(error);
  turn.failed(ofProvider);
  if (breaker.isOpen()) return ofProvider;
  return code === 'request_refused' && asked === 1
    ? new ProviderError('provider_error', error.message, { retryAfterMs: error.retryAfterMs })
    : error;
}

/** The failure of a provider that has failed in the same way several times in a row. */
function asOfProvider({ code, message, retryAfterMs }: ProviderError): ProviderError {
  return code === 'request_refused'
    ? new ProviderError(
        'provider_rejected',
        `${message}; check url, model and the other settings of the provider`,
        { retryAfterMs },
      )
    : new ProviderError('provider_unusable', `no usable answer several times in a row: ${message}`, {
        retryAfterMs,
      });
}

/** The unit of the fewest requests, and of those the shortest. */
function smallest<Unit extends AskedUnit>(units: readonly Unit[], counts: RequestCounts): Unit {
  const order = ({ unitId, sourceText }: Unit): number => timesOf(counts, unitId) * 1e9 + sourceText.length;
  return units.reduce((best, unit) => (order(unit) < order(best) ? unit : best));
}

/** The first batches of units: the more requests there were about units before, the smaller. */
function firstBatches<Unit extends AskedUnit>(
  units: readonly Unit[],
  options: AskOptions,
): (readonly Unit[])[] {
  const { size, counts } = options;
  const byCount = Map.groupBy(units, ({ unitId }) => Math.min(timesOf(counts, unitId), 10));
  return [...byCount].flatMap(([times, some]) => {
    const most = isLastTime(options, times) ? 1 : Math.ceil(size.units / 2 ** times);
    return [...splitIntoBatches(some, { ...size, units: most })];
  });
}

/** The batches after an answer: halves when it had no usable row, and single units when it is the last time. */
function nextBatches<Unit extends AskedUnit>(
  asked: readonly Unit[],
  left: readonly Unit[],
  options: AskOptions,
): readonly (readonly Unit[])[] {
  const isLast = ({ unitId }: Unit): boolean => isLastTime(options, timesOf(options.counts, unitId));
  if (left.length === 0) return [];
  if (left.some(isLast)) return left.map((unit) => [unit]);
  return smallerBatches(asked.length, left);
}

function isLastTime({ requestsPerUnit }: AskOptions, times: number): boolean {
  return times >= requestsPerUnit && times > 0;
}

/**
 * Asks for translations as {@link askUntilSettled} does, and adds up what the requests used. A translation that no database can keep
 * counts as a row that cannot be used.
 *
 * @param ask tells `count` what each request used
 */
export async function translateUntilSettled(
  units: readonly UnitToTranslate[],
  options: AskOptions,
  ask: (units: readonly UnitToTranslate[], count: (used: Usage) => void) => Promise<AnswerRows>,
): Promise<TranslationOutcome> {
  let usage = NO_USAGE;
  const count = (used: Usage): void => {
    usage = addUsage(usage, used);
  };
  const { results, failures } = await askUntilSettled(units, options, async (some) => {
    const answer = await ask(some, count);
    return { ...answer, rows: new Map([...answer.rows].map(([unitId, row]) => [unitId, storable(row)])) };
  });
  return {
    results: results.map(({ unitId, value, providerRunId }) => ({
      unitId,
      translatedText: value,
      providerRunId,
    })),
    failures,
    usage,
  };
}

/** No database keeps half of a surrogate pair: it would become another character. */
function storable(row: Result<string, RowFailure>): Result<string, RowFailure> {
  if (!row.ok || row.value.isWellFormed()) return row;
  return failure({ code: 'answer_malformed', message: 'the translation has half of a surrogate pair' });
}

/** The failure of the first row that an answer has; that of an answer without any when it has none. */
function firstFailure(rows: AnswerRows<unknown>['rows']): RowFailure {
  const failed = [...rows.values()].find((row) => !row.ok && row.error.code === 'answer_malformed');
  return failureOf(failed);
}

function failureOf(row: Result<unknown, RowFailure> | undefined): RowFailure {
  return row?.ok === false ? row.error : NO_ROW;
}
