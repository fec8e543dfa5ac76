import { randomFillSync } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import {
  findSingles,
  matchExactly,
  matchLoosely,
} from '../../src/localization/parse/index/carry/match-units.ts';
import { CARRY_TIERS } from '../../src/contract/schemas/vocabulary.ts';
import { finishSteps } from './index-release.ts';

/** A thread that matches a container with itself after every text was changed, and sends the number of changed units. */
const { units: count } = workerData as { readonly units: number };
const unitIds = randomFillSync(Buffer.alloc(count * 16));
const columns = () => ({
  count,
  unitIds,
  texts: randomFillSync(Buffer.alloc(count * 16)),
  leafStarts: new Uint8Array(count),
});
const [old, now] = [columns(), columns()];
const matches = finishSteps(matchExactly(old, now));
finishSteps(matchLoosely(old, now, finishSteps(findSingles(old, now, matches)), matches));
const changed = CARRY_TIERS.indexOf('changed');
parentPort?.postMessage(
  matches.oldUnits.reduce(
    (sum, oldUnit, unit) => sum + Number(oldUnit === unit && matches.tiers[unit] === changed),
    0,
  ),
);
