/** Folds long lists into the columns that a chart has room for; pure. */

/** A range of a list: `from` inclusive, `to` exclusive. */
interface Range {
  readonly from: number;
  readonly to: number;
}

interface Run<T> extends Range {
  readonly value: T;
}

/**
 * Splits a list into ranges of nearly equal length, without a gap.
 *
 * @param length of the list
 * @param slots most ranges; a shorter list gets one range for each item
 */
export function ranges(length: number, slots: number): readonly Range[] {
  const many = Math.max(0, Math.min(length, Math.floor(slots)));
  return Array.from({ length: many }, (_, index) => ({
    from: Math.floor((index * length) / many),
    to: Math.floor(((index + 1) * length) / many),
  }));
}

/**
 * Takes the greatest item of each range, so that a short outage stays visible in a narrow chart.
 *
 * @param values `null` where nothing is known
 * @param weight orders the items
 * @returns one item for each range; `null` where nothing in it is known
 */
export function foldGreatest<T>(
  values: readonly (T | null)[],
  slots: number,
  weight: (value: T) => number,
): readonly (T | null)[] {
  return ranges(values.length, slots).map(({ from, to }) => {
    let greatest: T | null = null;
    for (let index = from; index < to; index += 1) {
      const value = values[index] ?? null;
      if (value !== null && (greatest === null || weight(value) > weight(greatest))) greatest = value;
    }
    return greatest;
  });
}

/**
 * Takes the mean of the known numbers of each range.
 *
 * @param values `null` where nothing is known
 * @returns one number for each range; `null` where nothing in it is known
 */
export function foldMean(values: readonly (number | null)[], slots: number): readonly (number | null)[] {
  return ranges(values.length, slots).map(({ from, to }) => {
    let [sum, known] = [0, 0];
    for (let index = from; index < to; index += 1) {
      const value = values[index] ?? null;
      if (value === null) continue;
      sum += value;
      known += 1;
    }
    return known === 0 ? null : sum / known;
  });
}

/** Joins equal neighbours. */
export function runsOf<T>(values: readonly T[]): readonly Run<T>[] {
  const runs: Run<T>[] = [];
  for (const [index, value] of values.entries()) {
    const last = runs.at(-1);
    if (last !== undefined && last.value === value) runs[runs.length - 1] = { ...last, to: index + 1 };
    else runs.push({ value, from: index, to: index + 1 });
  }
  return runs;
}
