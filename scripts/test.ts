/**
 * Runs every check of the project, one after the other, and ends with `N passed, N failed`.
 *
 *   node scripts/test.ts [STAGE ...]
 *
 * A stage that fails does not stop the others; the exit code is 1 when anything failed.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import process from 'node:process';

interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What failed and why, for who sees only the end of the output. */
  readonly failures?: readonly string[];
}

/** What the JSON report of vitest says, as far as it is read here. */
interface TestReport {
  readonly numPassedTests?: number;
  readonly numPendingTests?: number;
  readonly numTodoTests?: number;
  readonly testResults?: ReadonlyArray<{
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: ReadonlyArray<{
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages?: readonly string[];
    }>;
  }>;
}

/** How many failures, and how much of each message, are said again at the end. */
const MOST_FAILURES = 10;
const FAILURE_LINES = 8;

interface Stage {
  readonly name: string;
  readonly run: (workDirectory: string) => Promise<Outcome>;
}

/** What test/cluster runs. */
const CONTROL_PLANE =
  'etcd kube-apiserver helm kubectl kubeconform kube-score httproutes.yaml servicemonitors.yaml'.split(' ');
/** What test/e2e/cluster runs, as root only. */
const WHOLE_NODE = process.getuid?.() === 0 ? ['all'] : [];

const STAGES: readonly Stage[] = [
  { name: 'format', run: () => check('oxfmt', ['--check', '.']) },
  { name: 'lint', run: () => check('oxlint', ['--deny-warnings']) },
  { name: 'types', run: () => types() },
  { name: 'dead-code', run: () => check('knip', []) },
  { name: 'docs', run: () => check('node', ['scripts/reference-docs.ts', '--check']) },
  { name: 'chart', run: () => check('node', ['scripts/chart.ts', '--check']) },
  { name: 'unit', run: (directory) => tier('unit', directory) },
  { name: 'arch', run: (directory) => tier('arch', directory) },
  { name: 'integration', run: (directory) => tier('integration', directory) },
  { name: 'cluster', run: (directory) => clusterTier('cluster', directory, CONTROL_PLANE) },
  { name: 'e2e', run: (directory) => clusterTier('e2e', directory, WHOLE_NODE) },
];

async function main(): Promise<number> {
  const wanted = process.argv.slice(2);
  const unknown = wanted.filter((name) => !STAGES.some((stage) => stage.name === name));
  if (unknown.length > 0) {
    console.error(
      `unknown stage ${unknown.join(', ')}; stages: ${STAGES.map((stage) => stage.name).join(', ')}`,
    );
    return 2;
  }
  const workDirectory = await mkdtemp(join(tmpdir(), 'slipway-test-'));
  const rows: Array<Outcome & { name: string; seconds: number }> = [];
  for (const stage of STAGES.filter((each) => wanted.length === 0 || wanted.includes(each.name))) {
    console.log(`\n== ${stage.name}`);
    const started = performance.now();
    rows.push({
      name: stage.name,
      ...(await stage.run(workDirectory)),
      seconds: (performance.now() - started) / 1000,
    });
  }
  await rm(workDirectory, { recursive: true, force: true });

  console.log('\nstage          passed  failed  skipped  seconds');
  for (const row of rows) {
    console.log(
      `${row.name.padEnd(14)} ${pad(row.passed, 6)} ${pad(row.failed, 7)} ${pad(row.skipped, 8)} ${pad(row.seconds.toFixed(1), 8)}`,
    );
  }
  const failures = rows.flatMap((row) => (row.failures ?? []).map((each) => `in ${row.name}: ${each}`));
  for (const failure of failures.slice(0, MOST_FAILURES)) console.log(`\nFAILED ${failure}`);
  if (failures.length > MOST_FAILURES)
    console.log(`\nand ${failures.length - MOST_FAILURES} more, see above`);
  const total = (key: 'passed' | 'failed' | 'skipped'): number =>
    rows.reduce((sum, row) => sum + row[key], 0);
  const skipped = total('skipped');
  // A skipped test proves nothing: on a user's machine it is named, in CI it is a failure.
  const failed = total('failed') + (process.env['CI'] === 'true' ? skipped : 0);
  if (skipped > 0) console.log(`\n${skipped} skipped: a tool they drive is missing (see above)`);
  console.log(`\n${total('passed')} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

/** One program a world: Node, the dashboard in the browser, and the tests of the latter that run in Node. */
async function types(): Promise<Outcome> {
  const projects = ['.', 'src/server/dashboard/assets', 'test/unit/server/dashboard/assets'];
  const outcomes = [];
  for (const project of projects) outcomes.push(await check('tsc', ['--noEmit', '-p', project]));
  const failed = outcomes.some((outcome) => outcome.failed > 0) ? 1 : 0;
  return { passed: 1 - failed, failed, skipped: 0 };
}

async function check(command: string, args: readonly string[]): Promise<Outcome> {
  const code = await execute(command, args);
  return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0 };
}

/** A tier that needs Kubernetes: what is missing of it is built first, where it can be seen and nothing waits in vain. */
async function clusterTier(
  project: string,
  workDirectory: string,
  programs: readonly string[],
): Promise<Outcome> {
  if (programs.length > 0) await execute('scripts/kube-tools.sh', programs);
  return await tier(project, workDirectory);
}

async function tier(project: string, workDirectory: string): Promise<Outcome> {
  const report = join(workDirectory, `${project}.json`);
  const code = await execute('vitest', [
    'run',
    '--project',
    project,
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
  ]);
  const parsed = await readFile(report, 'utf8').then(
    (text) => JSON.parse(text) as TestReport,
    (): TestReport => ({}),
  );
  const failures = failuresIn(parsed);
  return {
    passed: parsed.numPassedTests ?? 0,
    // A run that dies fails without a failed test.
    failed: code !== 0 && failures.length === 0 ? 1 : failures.length,
    skipped: (parsed.numPendingTests ?? 0) + (parsed.numTodoTests ?? 0),
    failures,
  };
}

/** File, title and the beginning of the message of all that failed. */
function failuresIn(report: TestReport): string[] {
  return (report.testResults ?? []).flatMap((file) => {
    const path = relative(process.cwd(), file.name);
    const tests = file.assertionResults
      .filter((test) => test.status === 'failed')
      .map((test) => `${path}: ${test.fullName}\n${beginningOf(test.failureMessages?.join('\n') ?? '')}`);
    return tests.length === 0 && file.status === 'failed'
      ? [`${path}\n${beginningOf(file.message ?? '')}`]
      : tests;
  });
}

function beginningOf(text: string): string {
  const lines = text.split('\n').filter((line) => !line.includes('/node_modules/'));
  return lines.slice(0, FAILURE_LINES).join('\n');
}

async function execute(command: string, args: readonly string[]): Promise<number> {
  return await new Promise<number>((resolve) => {
    const child = spawn(command, args, { stdio: 'inherit' });
    child.once('error', (error) => {
      console.error(`${command} could not be started: ${error.message}`);
      resolve(127);
    });
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

function pad(value: number | string, width: number): string {
  return String(value).padStart(width);
}

process.exitCode = await main();
