import { isOfProvider, type FailedUnit } from './provider-failure.ts';

interface Outcome {
  readonly failures: readonly FailedUnit[];
}

/**
 * Asks a provider, and its fallback for the units that it failed for trouble of its own. A cap holds for both.
 *
 * @param fallback `null` for a provider without one
 * @returns the outcomes, whose failures together have each unit without a result once
 */
export async function askWithFallback<Unit extends { readonly unitId: string }, Answer extends Outcome>(
  units: readonly Unit[],
  ask: (units: readonly Unit[]) => Promise<Answer>,
  fallback: ((units: readonly Unit[]) => Promise<Answer>) | null,
): Promise<readonly Answer[]> {
  const first = await ask(units);
  const isOut = ({ code }: FailedUnit): boolean => isOfProvider(code) && code !== 'cap_reached';
  const out = new Set(first.failures.filter(isOut).map(({ unitId }) => unitId));
  if (fallback === null || out.size === 0) return [first];
  const second = await fallback(units.filter(({ unitId }) => out.has(unitId)));
  return [{ ...first, failures: first.failures.filter((failure) => !isOut(failure)) }, second];
}
