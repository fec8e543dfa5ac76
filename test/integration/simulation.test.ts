import { execFile } from 'node:child_process';
import process from 'node:process';
import { expect, it } from 'vitest';
import { campaignSize, campaignTimeout } from '../support/long.ts';

const SEEDS = campaignSize(3, 500);
const STEPS = campaignSize(60, 200);

/** Plays a simulation in a process of its own, whose modules are not those of the tests. @returns what it printed, when it failed */
async function simulate(seed: number): Promise<string> {
  return await new Promise((resolve) => {
    const argv = ['scripts/simulate.ts', String(seed), String(STEPS)];
    execFile(process.execPath, argv, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      resolve(error === null ? '' : `${stdout.slice(-20_000)}${stderr}`);
    });
  });
}

it.each(Array.from({ length: SEEDS }, (_, index) => index + 1))(
  `an origin and an edge keep every promise in ${STEPS} steps of seed %i`,
  { timeout: campaignTimeout(STEPS, 2_000) },
  async (seed) => {
    expect(await simulate(seed), `make simulate SEED=${seed} STEPS=${STEPS}`).toBe('');
  },
);
