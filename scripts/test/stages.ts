import { availableParallelism } from 'node:os';
import process from 'node:process';
import { execute } from './execute.ts';
import type { Outcome } from './outcome.ts';
import { runTier } from './vitest-tier.ts';
import { checkWorkflows } from './workflows.ts';

/** One check of the project. */
export interface Stage {
  readonly name: string;
  /** The part of its tests, for a stage that several lanes share. */
  readonly part?: string;
  readonly run: (context: StageContext) => Promise<Outcome>;
}

/** How a stage is run. */
export interface StageContext {
  /** Reports are written here. */
  readonly workDirectory: string;
  /** See {@link execute}; empty when nothing else runs. */
  readonly label: string;
  /** A commit: only the unit tests that import a file that has changed since run. Default all. */
  readonly changedSince?: string | undefined;
}

/** test/cluster runs these programs. */
const CONTROL_PLANE =
  'etcd kube-apiserver helm kubectl kubeconform kube-score httproutes.yaml servicemonitors.yaml crane oras registry'.split(
    ' ',
  );
/** test/e2e/cluster runs all of them, as root only. */
const WHOLE_NODE = process.getuid?.() === 0 ? ['all'] : [];

/** Files that run at the same time: these tests wait for their cluster more than they compute. */
const CLUSTER_WORKERS = 2;
/** Those on a whole node wait most of the time: for leases, probes, pods that end, and metrics. */
const NODE_WORKERS = 3;

/**
 * Every stage. The lanes run side by side; the stages of a lane run one after the other. Together they keep two processors busy from
 * the first minute to the last: the first lane computes, the second has what needs one processor, and the third waits for pods most
 * of the time, so it begins at once.
 */
export const LANES: ReadonlyArray<readonly Stage[]> = [
  [{ name: 'console', run: builtTwice }, tier('unit'), tier('arch'), tier('integration')],
  [
    stage('format', 'oxfmt', '--check', '.'),
    stage('lint', 'oxlint', '--deny-warnings'),
    { name: 'types', run: types },
    stage('dead-code', 'knip'),
    stage('docs', 'node', 'scripts/reference-docs.ts', '--check'),
    stage('chart', 'node', 'scripts/chart.ts', '--check'),
    { name: 'workflows', run: checkWorkflows },
    clusterTier('cluster', CONTROL_PLANE, CLUSTER_WORKERS),
    // One file after the other, because each starts a browser and a system.
    { ...tier('e2e', 1, ['browser']), name: 'browser' },
  ],
  [
    { ...clusterTier('e2e-cluster', WHOLE_NODE, NODE_WORKERS), name: 'e2e', part: 'cluster' },
    { ...tier('e2e', 1, ['container']), part: 'container' },
  ],
];

function stage(name: string, command: string, ...args: readonly string[]): Stage {
  return { name, run: async ({ label }) => await check(command, args, label) };
}

function tier(
  project: string,
  workers: number = availableParallelism(),
  folders: readonly string[] = [],
): Stage {
  return {
    name: project,
    run: async ({ changedSince, ...context }) =>
      // Other tiers read files and start programs that they do not import.
      await runTier({
        project,
        folders,
        workers,
        context: project === 'unit' ? { ...context, changedSince } : context,
      }),
  };
}

/** A tier that needs Kubernetes: builds the programs first, so that no test waits for them. */
function clusterTier(project: string, programs: readonly string[], workers: number): Stage {
  const { name, run } = tier(project, workers);
  return {
    name,
    run: async (context) => {
      if (programs.length > 0) await execute('scripts/kube-tools.sh', programs, context.label);
      return await run(context);
    },
  };
}

/** Node, the console in the browser, and the console's tests that run in Node are programs of their own. */
async function types({ label }: StageContext): Promise<Outcome> {
  const projects = { node: '.', console: 'src/console', 'console-tests': 'test/unit/console' };
  const outcomes = [];
  for (const [name, project] of Object.entries(projects)) {
    // The next run checks only what has changed.
    const known = `.tools/types/${name}.tsbuildinfo`;
    const args = ['--noEmit', '--incremental', '--tsBuildInfoFile', known, '-p', project];
    outcomes.push(await check('tsc', args, label));
  }
  const failed = outcomes.some((outcome) => outcome.failed > 0) ? 1 : 0;
  const processorSeconds = outcomes.reduce((sum, outcome) => sum + (outcome.processorSeconds ?? 0), 0);
  return { passed: 1 - failed, failed, skipped: 0, processorSeconds };
}

/** The console is the same, byte for byte, in every build. */
async function builtTwice({ label }: StageContext): Promise<Outcome> {
  const built = await check('node', ['scripts/console.ts'], label);
  return built.failed > 0 ? built : await check('node', ['scripts/console.ts', '--check'], label);
}

async function check(command: string, args: readonly string[], label: string): Promise<Outcome> {
  const { code, processorSeconds } = await execute(command, args, label);
  return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0, processorSeconds };
}
