/**
 * The actions that an advice of the daemon tells to run, such as `release-cleanup` in "run release-cleanup or enlarge the
 * volume"; pure.
 *
 * @param actions by their names
 */
export function actionsIn(advice: string, actions: Readonly<Record<string, unknown>>): readonly string[] {
  const named = [...advice.matchAll(/\brun ([a-z]+(?:-[a-z]+)*)/gi)].map(([, name = '']) => name);
  return [...new Set(named)].filter((name) => Object.hasOwn(actions, name));
}
