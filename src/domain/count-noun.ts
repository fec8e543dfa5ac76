/** Numbers of a result that do not count what the task did. */
const NO_COUNT =
  /(?:^|_)(?:at|bytes|count|coverage|generation|ratio|seconds|share|since|size|until|version)$/;

/**
 * The noun of a number in the result of a task, for texts such as `333 entries` and `1 built container`. Pure.
 *
 * @returns `null` for a number that does not count what the task did, such as a size or a time
 */
export function countNoun(name: string, value: number | bigint): string | null {
  if (NO_COUNT.test(name)) return null;
  const noun = name.replaceAll('_', ' ');
  return Number(value) === 1 ? noun.replace(/ies$/, 'y').replace(/s$/, '') : noun;
}
