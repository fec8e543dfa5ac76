/**
 * Plays a simulation of a whole system and prints the steps that break a promise.
 *
 *   node scripts/simulate.ts SEED [STEPS] [--shrink]
 *
 * The same seed gives the same steps. With `--shrink`, steps that a failure does not need are left out, one after the other.
 */
import '../test/support/simulation/in-process.ts';
import process from 'node:process';
import { parseArgs } from 'node:util';
import type { Failure } from '../test/support/simulation/simulate.ts';

// After the substitutes are in place.
const { shrink, simulate, stepsOf } = await import('../test/support/simulation/simulate.ts');

const STEPS = 200;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { shrink: { type: 'boolean' } },
  });
  const [seed, count] = [Number(positionals[0]), Number(positionals[1] ?? STEPS)];
  if (!Number.isInteger(seed) || seed < 1 || !Number.isInteger(count) || count < 1) {
    console.error('usage: node scripts/simulate.ts SEED [STEPS] [--shrink]; both are whole numbers above 0');
    return 2;
  }
  const failure = await simulate(seed, stepsOf(seed, count), ({ kind }, at) => {
    console.log(`${at}  ${kind}`);
  });
  const { user, system } = process.cpuUsage();
  const seconds = (user + system) / 1_000_000;
  const played = failure === null ? count : failure.at + 1;
  console.log(
    `${played} steps of seed ${seed} in ${seconds.toFixed(1)} s of a processor, ${(played / seconds).toFixed(1)} a second`,
  );
  if (failure === null) return 0;
  describe(failure);
  if (values.shrink !== true) return 1;
  console.log('\nleaving out what it does not need ...');
  const smallest = await shrink(failure, ({ steps }) => {
    console.log(`${steps.length} steps`);
  });
  console.log('\nthe steps that it needs:');
  for (const { kind, numbers } of smallest.steps) console.log(`  ${kind} ${JSON.stringify(numbers)}`);
  describe(smallest);
  return 1;
}

function describe({ at, error, log }: Failure): void {
  console.log(`\nafter step ${at}: ${error.stack ?? error.message}\n`);
  console.log(log.join(''));
}

process.exitCode = await main();
