import { countText } from '../../../domain/count-text.ts';
import type { FailureReason, RunTally } from './run-tally.ts';
import type { StopReason } from './translate-chunk.ts';

/** How a run went. `partly`: units that it was to translate are still open. `failed`: it has got nothing. */
type RunOutcome = 'succeeded' | 'partly' | 'failed';

interface RunEnd {
  readonly tally: RunTally;
  /** Why it ended early; `null` when it did not. */
  readonly stop: StopReason | null;
  /** The last trouble of the provider, and the units of the parts that met it and were not tried again. */
  readonly trouble: { readonly reason: StopReason | null; readonly units: number };
  /** Open units of parts that failed in earlier runs. */
  readonly failedBefore: number;
  /** Units that got a target from the job `propagate`. */
  readonly repeated: number;
}

const MOST_REASONS = 10;

/** Judges a run by what it has got and what it has not. */
export function outcomeOf({ tally, stop, trouble, failedBefore, repeated }: RunEnd): {
  readonly outcome: RunOutcome;
  readonly reasons: readonly FailureReason[];
} {
  const got = tally.count(['reused', 'translated', 'repaired', 'propagated', 'blocked']) + repeated;
  const early = stop ?? trouble.reason;
  const reasons: FailureReason[] = [
    ...(early === null || (stop === null && trouble.units === 0)
      ? []
      : [{ code: early.code, units: trouble.units, message: early.message }]),
    ...tally.reasons(),
  ];
  const isWhole = reasons.length === 0;
  if (failedBefore > 0) {
    const message = `${countText(failedBefore, 'unit is', 'units are')} in parts that failed in earlier runs; "force" begins these again`;
    reasons.push({ code: 'failed_before', units: failedBefore, message });
  }
  if (reasons.length === 0) return { outcome: 'succeeded', reasons };
  return { outcome: isWhole || got > 0 ? 'partly' : 'failed', reasons: reasons.slice(0, MOST_REASONS) };
}
