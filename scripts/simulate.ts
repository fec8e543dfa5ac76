/**
 * Plays a simulation of a whole system and prints the steps that break a promise.
 *
 *   node scripts/simulate.ts SEED [STEPS]
 *
 * The same seed gives the same steps. A failure is shrunk: steps that it does not need are left out, one after the other.
 */
import process from 'node:process';
import { shrink, simulate, stepsOf, type Failure } from '../test/support/simulation/simulate.ts';

/** Lines of the logs that are printed. */
const LOG_LINES = 60;
const STEPS = 60;

async function main(): Promise<number> {
  const [seed, count] = [Number(process.argv[2]), Number(process.argv[3] ?? STEPS)];
  if (!Number.isInteger(seed) || seed < 1 || !Number.isInteger(count) || count < 1) {
    console.error('usage: node scripts/simulate.ts SEED [STEPS]; both are whole numbers above 0');
    return 2;
  }
  const started = performance.now();
  const failure = await simulate(seed, stepsOf(seed, count), ({ kind }, at) => {
    console.log(`${at}  ${kind}`);
  });
  const seconds = (performance.now() - started) / 1000;
  console.log(
    `${count} steps of seed ${seed} in ${seconds.toFixed(1)} s, ${(seconds / count).toFixed(2)} s each`,
  );
  if (failure === null) return 0;
  describe(failure);
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
  console.log(log.slice(-LOG_LINES).join(''));
}

process.exitCode = await main();
