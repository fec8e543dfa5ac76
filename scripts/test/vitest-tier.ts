import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import process from 'node:process';
import { execute } from './execute.ts';
import type { Outcome } from './outcome.ts';
import type { StageContext } from './stages.ts';

/** The JSON report of vitest, as far as it is read here. */
interface TestReport {
  readonly numPassedTests?: number;
  readonly numPendingTests?: number;
  readonly numTodoTests?: number;
  readonly testResults?: readonly FileReport[];
}

interface FileReport {
  readonly name: string;
  readonly status: string;
  readonly message?: string;
  readonly startTime: number;
  readonly endTime: number;
  readonly assertionResults: ReadonlyArray<{
    readonly fullName: string;
    readonly status: string;
    readonly failureMessages?: readonly string[];
  }>;
}

/** The file, below the folder of reports, to which each test file adds its processor time: `test/support/processor-time.ts`. */
export const PROCESSOR_TIMES = 'processor-times.jsonl';

/** How many lines of each failure are printed again at the end. */
const FAILURE_LINES = 20;

/** How a tier is run. */
export interface TierOptions {
  /** The project of `vitest.config.ts`. */
  readonly project: string;
  /** The folders whose tests run, relative to that of the project; all when empty. */
  readonly folders?: readonly string[];
  /** How many test files run at the same time. */
  readonly workers: number;
  readonly context: StageContext;
}

/** Runs the tests of one tier. */
export async function runTier({
  project,
  folders = [],
  workers,
  context: { workDirectory, label, changedSince },
}: TierOptions): Promise<Outcome> {
  const path = join(workDirectory, `${[project, ...folders].join('-')}.json`);
  const { code, processorSeconds } = await execute(
    'vitest',
    [
      'run',
      '--project',
      project,
      `--maxWorkers=${workers}`,
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${path}`,
      ...(changedSince === undefined ? [] : [`--changed=${changedSince}`, '--passWithNoTests']),
      ...folders.map((folder) => `test/${project}/${folder}/`),
    ],
    label,
  );
  const report = await readFile(path, 'utf8').then(
    (text) => JSON.parse(text) as TestReport,
    (): TestReport => ({}),
  );
  const results = report.testResults ?? [];
  const processorTimes = await readProcessorTimes(join(workDirectory, PROCESSOR_TIMES));
  const failures = results.flatMap(failuresIn);
  return {
    passed: report.numPassedTests ?? 0,
    // A run that dies fails without a failed test.
    failed: code !== 0 && failures.length === 0 ? 1 : failures.length,
    skipped: (report.numPendingTests ?? 0) + (report.numTodoTests ?? 0),
    processorSeconds,
    failures,
    skips: results.flatMap(skipsIn),
    files: results.map(({ name, startTime, endTime }) => {
      const ofProcessor = processorTimes.get(name);
      return {
        path: relative(process.cwd(), name),
        seconds: (endTime - startTime) / 1000,
        ...(ofProcessor === undefined ? {} : { processorSeconds: ofProcessor }),
      };
    }),
  };
}

/** The processor time of each test file that has ended, by its path. */
async function readProcessorTimes(path: string): Promise<ReadonlyMap<string, number>> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const lines = text.split('\n').filter((line) => line !== '');
  return new Map(
    lines.map((line) => {
      const { path: file, seconds } = JSON.parse(line) as { readonly path: string; readonly seconds: number };
      return [file, seconds];
    }),
  );
}

/** File, title and beginning of the message of each failed test; of the file when it failed as a whole. */
function failuresIn(file: FileReport): string[] {
  const path = relative(process.cwd(), file.name);
  const tests = file.assertionResults
    .filter((test) => test.status === 'failed')
    .map((test) => `${path}: ${test.fullName}\n${beginningOf(test.failureMessages?.join('\n') ?? '')}`);
  return tests.length === 0 && file.status === 'failed'
    ? [`${path}\n${beginningOf(file.message ?? '')}`]
    : tests;
}

/** File and title of each test that did not run. */
function skipsIn(file: FileReport): string[] {
  return file.assertionResults
    .filter(({ status }) => status !== 'passed' && status !== 'failed')
    .map(({ fullName }) => `${relative(process.cwd(), file.name)}: ${fullName}`);
}

function beginningOf(text: string): string {
  const lines = text.split('\n').filter((line) => !line.includes('/node_modules/'));
  return lines.slice(0, FAILURE_LINES).join('\n');
}
