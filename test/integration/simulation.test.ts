import { expect, it } from 'vitest';
import { campaignSize, campaignTimeout } from '../support/long.ts';
import { simulate, stepsOf } from '../support/simulation/simulate.ts';

const SEEDS = campaignSize(1, 100);
const STEPS = campaignSize(15, 100);

it.each(Array.from({ length: SEEDS }, (_, index) => index + 1))(
  `an origin and an edge keep every promise in ${STEPS} steps of seed %i`,
  { timeout: campaignTimeout(STEPS, 20_000) },
  async (seed) => {
    const failure = await simulate(seed, stepsOf(seed, STEPS));
    const { at = 0, steps = [], error = null, log = [] } = failure ?? {};
    const text = `make simulate SEED=${seed} STEPS=${STEPS}: after step ${at} (${steps[at]?.kind ?? ''}): ${error?.stack ?? ''}\n${log.slice(-40).join('')}`;
    expect(failure, text).toBeNull();
  },
);
