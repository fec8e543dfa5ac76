import process from 'node:process';

/** Whether campaigns run at full length, as `make test-long` does. */
export const isLong = process.env['SLIPWAY_LONG'] === '1';

/**
 * The size of a campaign: a count of kills, requests or mutations. The seed is fixed, so the short campaign is the
 * beginning of the long one.
 *
 * @param short in `make test`
 * @param long in `make test-long`
 */
export function campaignSize(short: number, long: number): number {
  return isLong ? long : short;
}

/** Time for a campaign, milliseconds: that of any test, and `roundMs` for each round, so that a busy machine passes. */
export function campaignTimeout(rounds: number, roundMs: number): number {
  return 180_000 + rounds * roundMs;
}

/**
 * The part of a walk over many places that `make test` does: each `step`-th place. `make test-long` goes to all of them.
 *
 * @param places in the order of the walk
 * @param step of how many places `make test` takes one
 */
export function campaignPart<T>(places: readonly T[], step: number): T[] {
  return places.filter((_, at) => isLong || at % step === 0);
}
