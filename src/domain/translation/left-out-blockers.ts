/** Codes of `publish_blockers` whose units a publication leaves out; every other code prevents it. */
export const LEFT_OUT_BLOCKERS: ReadonlySet<string> = new Set([
  'on_hold',
  'stale',
  'untranslated',
  'below_min_state',
]);

/**
 * How many units have the state of a blocker, when that is more than it counts: the others are on hold, or in a file or task that
 * no publication has. `null` when there are no others, or when a blocker is about several states.
 */
export function unitsOfState(
  { unit_state: state, count }: { unit_state?: string | undefined; count: number },
  byState: Readonly<Record<string, number>>,
): number | null {
  const all = state === 'untranslated' || state === 'stale' ? (byState[state] ?? 0) : 0;
  return all > count ? all : null;
}
