/** The speed of a task from samples of its progress; pure. */

export interface ProgressSample {
  /** Unix seconds. */
  readonly at: number;
  readonly done: number;
  readonly phase: string;
}

export interface Speed {
  /** Unix seconds. */
  readonly from: number;
  readonly to: number;
  readonly rate: number;
}

/**
 * The speeds between samples of one phase. A progress that goes back, as after a retry, gives none.
 *
 * @param samples in the order of time
 */
export function speedsOf(samples: readonly ProgressSample[]): readonly Speed[] {
  return samples.flatMap((sample, index) => {
    const before = samples[index - 1];
    if (before === undefined || before.phase !== sample.phase) return [];
    const seconds = sample.at - before.at;
    const grown = sample.done - before.done;
    return seconds <= 0 || grown < 0 ? [] : [{ from: before.at, to: sample.at, rate: grown / seconds }];
  });
}

/**
 * Seconds until a task has done everything, at the mean speed of its last samples; `null` when that is unknown.
 *
 * @param speeds of the present phase
 * @param seconds how far back the mean reaches
 */
export function secondsLeft(
  { done, total }: { done: number; total: number | null },
  speeds: readonly Speed[],
  seconds = 30,
): number | null {
  if (total === null) return null;
  const rate = meanRate(speeds, seconds);
  return rate === null || rate === 0 ? null : Math.max(0, total - done) / rate;
}

/** The mean speed of the last samples, per second; `null` without any. */
export function meanRate(speeds: readonly Speed[], seconds: number): number | null {
  const last = speeds.at(-1);
  if (last === undefined) return null;
  const recent = speeds.filter(({ to }) => to > last.to - seconds);
  const spent = recent.reduce((sum, { from, to }) => sum + to - from, 0);
  return recent.reduce((sum, { from, to, rate }) => sum + rate * (to - from), 0) / spent;
}
