import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import type * as threads from '../../src/platform/threads/thread.ts';
import { campaignSize, campaignTimeout, isLong } from '../support/long.ts';
import {
  createExplorer,
  pointsOf,
  syncSites,
  type Scenario,
  type Violation,
} from '../support/crash-states/explore.ts';
import { recordFileScenarios } from '../support/crash-states/file-scenarios.ts';
import { recordReleaseScenarios } from '../support/crash-states/release-scenarios.ts';
import {
  MEMORY_DIRECTORY,
  setup as makeMemoryDirectory,
  teardown as removeMemoryDirectory,
} from '../support/memory-directory.ts';

vi.mock('../../src/platform/files/file-changes.ts', async (original) => {
  const { recordedChanges } = await import('../support/crash-states/crash-recorder.ts');
  return recordedChanges(await original());
});
vi.mock('../../src/platform/threads/thread.ts', async (original) => {
  const { openInProcess } = await import('../support/crash-states/threads-in-process.ts');
  const real = await original<typeof threads>();
  return { ...real, openThread: openInProcess(real) };
});

const SEED = 1;
const STATES = campaignSize(500, 200_000);
/** Of how many points of a round one is checked: each round has others, so that the states are of as many kinds of losses. */
const STEP = campaignSize(4, 1);
const MUTATION_ROUNDS = 12;

makeMemoryDirectory();
const folder = await mkdtemp(join(MEMORY_DIRECTORY ?? tmpdir(), 'slipway-crash-states-'));
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  removeMemoryDirectory();
});
const scenarios: ReadonlyArray<Scenario<unknown>> = [
  ...(await recordReleaseScenarios(folder)),
  ...(await recordFileScenarios(folder)),
];

it(
  `a start after a power failure finds the old or the new state, and nothing that was acknowledged is lost, in ${STATES} states (seed ${SEED})`,
  { timeout: campaignTimeout(STATES, 500) },
  async () => {
    const explorers = scenarios.map((scenario) => ({
      scenario,
      explorer: createExplorer(scenario, join(folder, 'explored'), SEED),
    }));
    const violations: Violation[] = [];
    const checked = (): number => explorers.reduce((sum, { explorer }) => sum + explorer.checked(), 0);
    for (let round = 0; checked() < STATES; round += 1) {
      const before = checked();
      for (const { scenario, explorer } of explorers) {
        for (const point of pointsOf(scenario.log)) {
          if (checked() >= STATES) break;
          if ((point + round) % STEP !== 0) continue;
          const violation = await explorer.check(point, round);
          if (violation !== null) violations.push(violation);
        }
      }
      expect(violations).toEqual([]);
      // Nothing new was found in a whole round, so the rest of the states would be the same ones.
      expect(checked()).toBeGreaterThan(before);
    }
  },
);

it(
  'each sync of the code is needed: without it, a power failure breaks a promise',
  { timeout: campaignTimeout(5_000, 500) },
  async () => {
    const sites = [...new Set(scenarios.flatMap(({ log }) => syncSites(log)))];
    const table: Array<readonly [site: string, found: string | null]> = [];
    for (const site of sites) table.push([site, await findWithout(site)]);
    if (isLong) console.info(table.map(([site, found]) => `${site}: ${found ?? 'NOT FOUND'}`).join('\n'));
    expect(table.filter(([, found]) => found === null)).toEqual([]);
  },
);

async function findWithout(site: string): Promise<string | null> {
  for (let round = 0; round < MUTATION_ROUNDS; round += 1) {
    for (const scenario of scenarios) {
      const first = scenario.log.events.findIndex((event) => event.kind === 'sync' && event.site === site);
      if (first < 0) continue;
      const explorer = createExplorer(scenario, join(folder, 'mutated'), SEED, new Set([site]));
      // Most is known at the last points.
      for (const point of pointsOf(scenario.log).toReversed()) {
        if (point <= first) continue;
        const violation = await explorer.check(point, round);
        if (violation !== null) return `${scenario.name}: ${violation.problem}`;
      }
    }
  }
  return null;
}
