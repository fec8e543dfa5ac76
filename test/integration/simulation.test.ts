import { execFile } from 'node:child_process';
import process from 'node:process';
import { expect, it } from 'vitest';
import { campaignSize, campaignTimeout } from '../support/long.ts';
import { PLANTED_FAULTS } from '../support/simulation/planted-faults.ts';

const SEEDS = campaignSize(2, 500);
const STEPS = 60;

/**
 * Plays a simulation in a process of its own, whose modules are not those of the tests.
 *
 * @param fault the planted fault, or none
 * @returns what it printed, when it failed
 */
async function simulate(seed: number, fault = ''): Promise<string> {
  return await new Promise((resolve) => {
    const argv = ['scripts/simulate.ts', String(seed), String(STEPS)];
    const env = { ...process.env, SIMULATED_FAULT: fault };
    execFile(process.execPath, argv, { env, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      resolve(error === null ? '' : `${stdout.slice(-20_000)}${stderr}`);
    });
  });
}

it.each(Array.from({ length: SEEDS }, (_, index) => index + 1))(
  `an origin and an edge keep every promise in ${STEPS} steps of seed %i`,
  { timeout: campaignTimeout(STEPS, 5_000) },
  async (seed) => {
    expect(await simulate(seed), `make simulate SEED=${seed} STEPS=${STEPS}`).toBe('');
  },
);

it.each(PLANTED_FAULTS)(
  'the simulation finds a fault that is put back: $name, with seed $seed',
  { timeout: campaignTimeout(STEPS, 5_000) },
  async ({ name, seed, found }) => {
    expect(await simulate(seed, name)).toContain(found);
  },
);
