import { countText } from '../../../domain/count-text.ts';
import type { FailureReason, RunTally } from './run-tally.ts';
import type { StopReason } from './translate-chunk.ts';

/** How a run went. `partly`: units that it was to translate are still open. `failed`: it translated nothing. */
type RunOutcome = 'succeeded' | 'partly' | 'failed';

interface RunEnd {
  readonly tally: RunTally;
  /** Why it ended early; `null` when it did not. */
  readonly stop: StopReason | null;
  /** Why chunks that the run worked on have open units, one reason for each chunk. */
  readonly delays: readonly FailureReason[];
  /** Units that are open and have not failed. */
  readonly left: number;
  /** Open units that the run could not take. */
  readonly withheld: {
    /** Of parts that failed in earlier runs. */
    readonly failed: number;
    /** Of parts that are to be tried later, because of earlier runs. */
    readonly delayed: number;
    /** Of parts whose lease the run lost. */
    readonly lost: number;
    /** Of parts that another run works on. */
    readonly leased: number;
  };
  /** Units that got a target from the job `propagate`. */
  readonly repeated: number;
}

const MOST_REASONS = 10;

/** Judges a run by what it translated, and by what is still open. */
export function outcomeOf({ tally, stop, delays, left, withheld, repeated }: RunEnd): {
  readonly outcome: RunOutcome;
  readonly reasons: readonly FailureReason[];
} {
  const got = tally.count(['reused', 'translated', 'repaired', 'propagated', 'blocked']) + repeated;
  const { delayed, lost, leased } = withheld;
  const own = [...sumOf(delays, stop, left - delayed - lost - leased), ...tally.reasons()];
  const reasons = [...own, ...reasonsOf(withheld)];
  if (reasons.length === 0) return { outcome: 'succeeded', reasons };
  const isPart = own.length === 0 || got > 0;
  return { outcome: isPart ? 'partly' : 'failed', reasons: reasons.slice(0, MOST_REASONS) };
}

/** One reason for each code, that of the stop first: what the run did not come to is left because of it. */
function sumOf(delays: readonly FailureReason[], stop: StopReason | null, left: number): FailureReason[] {
  const sums = new Map<string, FailureReason>();
  if (stop !== null) sums.set(stop.code, { code: stop.code, units: 0, message: stop.message });
  for (const { code, units, message } of delays) {
    const { units: before = 0, message: first = message } = sums.get(code) ?? {};
    sums.set(code, { code, units: before + units, message: first });
  }
  const known = delays.reduce((sum, { units }) => sum + units, 0);
  return [...sums.values()].map((reason) =>
    reason.code === stop?.code ? { ...reason, units: reason.units + Math.max(0, left - known) } : reason,
  );
}

function reasonsOf({ failed, delayed, lost, leased }: RunEnd['withheld']): FailureReason[] {
  const all = [
    ['failed_before', failed, 'in parts that failed in earlier runs; "force" begins these again'],
    ['delayed', delayed, 'in parts that failed in earlier runs and are to be tried later'],
    ['lease_lost', lost, 'in parts whose lease was lost; a larger "lease_seconds" keeps leases longer'],
    ['leased', leased, 'in parts that another run works on'],
  ] as const;
  return all.flatMap(([code, units, where]) =>
    units === 0 ? [] : [{ code, units, message: `${countText(units, 'unit is', 'units are')} ${where}` }],
  );
}
