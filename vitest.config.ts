import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import process from 'node:process';
import { defineConfig } from 'vitest/config';
import manifest from './package.json' with { type: 'json' };
import { isLong } from './test/support/long.ts';
import { MEMORY_DIRECTORY } from './test/support/memory-directory.ts';
import { requireNode } from './test/support/require-node.ts';

requireNode(process.versions.node, manifest.engines.node);

const BUILT_CONSOLE = 'test/support/built-console.ts';
/** What every test file begins with. */
const SETUP = ['test/support/processor-time.ts', 'test/support/compare-bytes.ts'];

// Programs that tests start begin in half of the time with it; the Makefile sets the same.
process.env['NODE_COMPILE_CACHE'] ??= resolve('.tools/compile-cache');

/**
 * What is different in tiers that start no system. Their files share the process of a worker, which saves a fifth of their
 * processor time: a file restores what it changes of the process. Their temporary files are in memory, where fsync takes no time.
 */
const inOneProcess = {
  isolate: false,
  globalSetup: [BUILT_CONSOLE, 'test/support/memory-directory.ts'],
  setupFiles: [
    ...SETUP,
    'test/support/reuse-threads.ts',
    'test/support/property-seed.ts',
    ...(process.env['NODE_V8_COVERAGE'] === undefined ? [] : ['test/support/take-coverage.ts']),
  ],
  env: MEMORY_DIRECTORY === null ? {} : { TMPDIR: MEMORY_DIRECTORY },
};

/** No test may need what another one left, so those of a file run in an order that nobody chose; the seed below decides it. */
const inAnyOrder = { sequence: { shuffle: { tests: true } } };

/** One project per tier; `npx vitest run --project unit` runs one of them. */
const tier = (
  name: string,
  testTimeout: number,
  { env, ...options }: { env?: object; [option: string]: unknown } = {},
): object => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    environment: 'node',
    pool: 'forks',
    testTimeout: isLong ? testTimeout * 10 : testTimeout,
    hookTimeout: testTimeout,
    // A wait ends a little before its test does, so that the test fails with what it waited for. Every probe takes milliseconds of
    // the program that it asks.
    expect: { poll: { timeout: testTimeout - 10_000, interval: 100 } },
    env: { SLIPWAY_TEST_WAIT_MS: String(testTimeout - 10_000), ...env },
    globalSetup: [BUILT_CONSOLE],
    setupFiles: SETUP,
    // The log of CI shows the message of a failure only, so it must quote what was compared.
    chaiConfig: { truncateThreshold: 2_000 },
    ...options,
  },
});

export default defineConfig({
  test: {
    // By default vitest leaves one processor idle; of two that is half of the machine.
    maxWorkers: availableParallelism(),
    // The same order each time, so that a failure comes again.
    sequence: { seed: 202 },
    projects: [
      tier('unit', 180_000, { ...inOneProcess, ...inAnyOrder }),
      tier('arch', 180_000, inOneProcess),
      tier('integration', 180_000, inAnyOrder),
      tier('cluster', 300_000, { globalSetup: [BUILT_CONSOLE, 'test/support/operator-plane.ts'] }),
      // On a busy machine an image is built in four minutes.
      tier('e2e', 600_000, { include: ['test/e2e/{browser,container}/**/*.test.ts'] }),
      // A project of its own, because all of its files share one cluster, which its setup starts. A test has many steps, each of
      // which waits for pods.
      tier('e2e-cluster', 900_000, {
        include: ['test/e2e/cluster/**/*.test.ts'],
        globalSetup: ['test/support/e2e-node.ts'],
      }),
    ],
  },
});
