import { defineConfig } from 'vitest/config';

/** One project per tier; `npx vitest run --project unit` runs one of them. */
const tier = (name: string, testTimeout: number): object => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    environment: 'node',
    pool: 'forks',
    testTimeout,
    hookTimeout: testTimeout,
  },
});

export default defineConfig({
  test: {
    projects: [
      tier('unit', 20_000),
      tier('arch', 60_000),
      tier('integration', 180_000),
      tier('cluster', 300_000),
      tier('e2e', 300_000),
    ],
  },
});
