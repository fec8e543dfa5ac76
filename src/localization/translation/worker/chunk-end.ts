import { backoffMs } from '../../../platform/process/backoff.ts';
import { countText } from '../../../domain/count-text.ts';
import { PROVIDER_FAILURES, type ProviderFailureCode } from '../providers/provider-failure.ts';
import type { ChunkEnd } from '../work/leases/chunk-leases.ts';

/** A failure of some units of a chunk. */
export interface ChunkFailure {
  readonly code: ProviderFailureCode;
  readonly message: string;
  readonly retryAfterMs: number | null;
  /** Units without a translation because of it. */
  readonly units: number;
}

/** Why no other chunk of the run can succeed. */
export interface StopReason {
  readonly code: ProviderFailureCode;
  readonly message: string;
}

/** How a chunk ended, and what follows for its run. */
export interface DecidedEnd {
  readonly end: ChunkEnd;
  readonly stop: StopReason | null;
  /** Trouble of the provider itself; many chunks with it in a row stop the run. */
  readonly trouble: StopReason | null;
  /** Units that failed for good. */
  readonly failedUnits: number;
}

interface EndSituation {
  /** Of the chunk, 1 for the first. It is 1 again when something was stored. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly retryBackoffSeconds: number;
  /** Unix seconds. */
  readonly now: number;
  /** In [0, 1). */
  readonly random: number;
}

/** Longest wait before a retry, seconds. */
const LONGEST_BACKOFF_SECONDS = 3600;
const REASON_CHARACTERS = 500;

/**
 * Decides how the work on a chunk ends. A failure that every other request would meet stops the run and does not count as an attempt. Units that
 * the provider does not translate by its nature stay open. Every other failure is retried until the attempts are used up.
 */
export function decideEnd(failures: readonly ChunkFailure[], situation: EndSituation): DecidedEnd {
  const of = (disposition: string): ChunkFailure | undefined =>
    failures.find(({ code }) => PROVIDER_FAILURES[code] === disposition);
  const stop = of('stop');
  if (stop !== undefined) {
    const { code, message } = stop;
    const end = { kind: code === 'cap_reached' ? 'left' : 'cancelled' } as const;
    return { end, stop: { code, message }, trouble: null, failedUnits: 0 };
  }
  const counted = failures.filter(({ code }) => PROVIDER_FAILURES[code] !== 'leave');
  if (counted.length === 0) {
    const kind = failures.length === 0 ? 'done' : 'left';
    return { end: { kind }, stop: null, trouble: null, failedUnits: 0 };
  }
  const trouble = of('retry') ?? null;
  const reason = describe(counted);
  const { attempt, maxAttempts } = situation;
  if (attempt >= maxAttempts) {
    const failedUnits = counted.reduce((sum, { units }) => sum + units, 0);
    return { end: { kind: 'failed', reason }, stop: null, trouble, failedUnits };
  }
  const nextAttemptAt = situation.now + waitSeconds(counted, situation);
  return { end: { kind: 'retry', reason, nextAttemptAt }, stop: null, trouble, failedUnits: 0 };
}

function waitSeconds(
  failures: readonly ChunkFailure[],
  { attempt, retryBackoffSeconds, random }: EndSituation,
): number {
  const asked = Math.max(0, ...failures.map(({ retryAfterMs }) => retryAfterMs ?? 0));
  const limits = {
    baseMs: retryBackoffSeconds * 1000,
    capMs: Math.max(LONGEST_BACKOFF_SECONDS, retryBackoffSeconds) * 1000,
  };
  return Math.ceil(backoffMs(attempt, limits, random, asked === 0 ? null : asked) / 1000);
}

function describe(failures: readonly ChunkFailure[]): string {
  const counts = new Map<string, number>();
  for (const { code, units } of failures) counts.set(code, (counts.get(code) ?? 0) + units);
  const summary = [...counts].map(([code, units]) => `${code}: ${countText(units, 'unit')}`).join(', ');
  const [first] = failures;
  return `${summary}; ${first?.message ?? ''}`.slice(0, REASON_CHARACTERS).toWellFormed();
}
