import { availableParallelism } from 'node:os';
import process from 'node:process';
import { execute } from './execute.ts';
import type { Outcome } from './outcome.ts';
import { runTier } from './vitest-tier.ts';

/** One check of the project. */
export interface Stage {
  readonly name: string;
  /** The part of its tests, for a stage that several lanes share. */
  readonly part?: string;
  /** @param label see {@link execute}; empty when nothing else runs */
  readonly run: (workDirectory: string, label: string) => Promise<Outcome>;
}

/** test/cluster runs these programs. */
const CONTROL_PLANE =
  'etcd kube-apiserver helm kubectl kubeconform kube-score httproutes.yaml servicemonitors.yaml crane oras registry'.split(
    ' ',
  );
/** test/e2e/cluster runs all of them, as root only. */
const WHOLE_NODE = process.getuid?.() === 0 ? ['all'] : [];

/**
 * Every stage. The groups run one after the other; the lanes of a group run side by side, because tests with processes and
 * clusters wait more than they compute; the stages of a lane run one after the other.
 */
export const GROUPS: ReadonlyArray<ReadonlyArray<readonly Stage[]>> = [
  [
    [
      stage('format', 'oxfmt', '--check', '.'),
      stage('lint', 'oxlint', '--deny-warnings'),
      stage('prose', 'node', 'scripts/prose.ts'),
      { name: 'types', run: types },
      { name: 'console', run: builtTwice },
      stage('dead-code', 'knip'),
      stage('docs', 'node', 'scripts/reference-docs.ts', '--check'),
      stage('chart', 'node', 'scripts/chart.ts', '--check'),
      tier('unit'),
      tier('arch'),
    ],
  ],
  [
    [tier('integration'), browserTier('1/2')],
    [
      clusterTier('cluster', CONTROL_PLANE),
      clusterTier('e2e', WHOLE_NODE, ['container', 'cluster']),
      browserTier('2/2'),
    ],
  ],
];

function stage(name: string, command: string, ...args: readonly string[]): Stage {
  return { name, run: async (_workDirectory, label) => await check(command, args, label) };
}

function tier(project: string): Stage {
  const workers = availableParallelism();
  return {
    name: project,
    run: async (workDirectory, label) => await runTier({ project, workers, workDirectory, label }),
  };
}

/**
 * A tier that needs Kubernetes: builds the programs first, so that no test waits for them. Its files run one after the
 * other, because each may start a whole cluster.
 */
function clusterTier(project: string, programs: readonly string[], folders: readonly string[] = []): Stage {
  return {
    name: project,
    run: async (workDirectory, label) => {
      if (programs.length > 0) await execute('scripts/kube-tools.sh', programs, label);
      return await runTier({ project, folders, workers: 1, workDirectory, label });
    },
  };
}

/**
 * A part of the tests in a browser. Each lane has one half of the files. They run one after the other, because each starts a
 * browser and a system.
 */
function browserTier(shard: string): Stage {
  return {
    name: 'browser',
    part: shard,
    run: async (workDirectory, label) =>
      await runTier({ project: 'e2e', folders: ['browser'], shard, workers: 1, workDirectory, label }),
  };
}

/** Node, the console in the browser, and the console's tests that run in Node are programs of their own. */
async function types(_workDirectory: string, label: string): Promise<Outcome> {
  const projects = ['.', 'src/console', 'test/unit/console'];
  const outcomes = [];
  for (const project of projects) outcomes.push(await check('tsc', ['--noEmit', '-p', project], label));
  const failed = outcomes.some((outcome) => outcome.failed > 0) ? 1 : 0;
  return { passed: 1 - failed, failed, skipped: 0 };
}

/** The console is the same, byte for byte, in every build. */
async function builtTwice(_workDirectory: string, label: string): Promise<Outcome> {
  const built = await check('node', ['scripts/console.ts'], label);
  return built.failed > 0 ? built : await check('node', ['scripts/console.ts', '--check'], label);
}

async function check(command: string, args: readonly string[], label: string): Promise<Outcome> {
  const code = await execute(command, args, label);
  return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0 };
}
