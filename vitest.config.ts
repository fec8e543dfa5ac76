import { availableParallelism } from 'node:os';
import process from 'node:process';
import { defineConfig } from 'vitest/config';
import manifest from './package.json' with { type: 'json' };
import { isLong } from './test/support/long.ts';
import { requireNode } from './test/support/require-node.ts';

requireNode(process.versions.node, manifest.engines.node);

/** One project per tier; `npx vitest run --project unit` runs one of them. */
const tier = (name: string, testTimeout: number, options: object = {}): object => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    environment: 'node',
    pool: 'forks',
    testTimeout: isLong ? testTimeout * 10 : testTimeout,
    hookTimeout: testTimeout,
    globalSetup: ['test/support/built-console.ts'],
    // The log of CI shows the message of a failure only, so it must quote what was compared.
    chaiConfig: { truncateThreshold: 2_000 },
    ...options,
  },
});

export default defineConfig({
  test: {
    // By default vitest leaves one processor idle; of two that is half of the machine.
    maxWorkers: availableParallelism(),
    projects: [
      tier('unit', 60_000),
      tier('arch', 60_000),
      tier('integration', 180_000),
      tier('cluster', 300_000),
      tier('e2e', 300_000),
    ],
  },
});
