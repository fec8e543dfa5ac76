/**
 * Runs every check of the project and ends with `N passed, N failed`.
 *
 *   node scripts/test.ts [--changed] [STAGE ...]
 *
 * `--changed` runs only the unit tests that import a file that is not as it was where the branch left `main`.
 * A stage that fails does not stop the others; the exit code is 1 when anything failed.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { LANES, type Stage, type StageContext } from './test/stages.ts';
import { renderSummary, type Row } from './test/summary.ts';
import { PROCESSOR_TIMES } from './test/vitest-tier.ts';

async function main(): Promise<number> {
  const { values, positionals: wanted } = parseArgs({
    options: { changed: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const changedSince = values.changed ? branchPoint() : undefined;
  const names = new Set(LANES.flat().map(({ name }) => name));
  const unknown = wanted.filter((name) => !names.has(name));
  if (unknown.length > 0) {
    console.error(`unknown stage ${unknown.join(', ')}; stages: ${[...names].join(', ')}`);
    return 2;
  }
  const workDirectory = await mkdtemp(join(tmpdir(), 'slipway-test-'));
  // Each test file adds its line.
  process.env['SLIPWAY_TEST_TIMES'] = join(workDirectory, PROCESSOR_TIMES);
  const lanes = LANES.map((lane) =>
    lane.filter(({ name }) => wanted.length === 0 || wanted.includes(name)),
  ).filter((lane) => lane.length > 0);
  const ended = await Promise.all(
    lanes.map(async (lane) => await runLane(lane, { workDirectory, changedSince }, lanes.length > 1)),
  );
  await rm(workDirectory, { recursive: true, force: true });
  // A skipped test proves nothing: a user sees it named, in CI it is a failure.
  const { text, failed } = renderSummary(ended.flat(), { skipsFail: process.env['CI'] === 'true' });
  console.log(text);
  return failed === 0 ? 0 : 1;
}

/** Runs stages one after the other; their lines are labelled when other stages run beside them. */
async function runLane(
  stages: readonly Stage[],
  context: Omit<StageContext, 'label'>,
  isLabelled: boolean,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { name, part, run } of stages) {
    const title = part === undefined ? name : `${name} ${part}`;
    console.log(`\n== ${title}`);
    const started = performance.now();
    const outcome = await run({ ...context, label: isLabelled ? title : '' });
    rows.push({ name: title, ...outcome, seconds: (performance.now() - started) / 1000 });
    if (isLabelled) console.log(`== ${title} has ended: ${outcome.passed} passed, ${outcome.failed} failed`);
  }
  return rows;
}

/** The commit at which this branch left `main`; the current one where no `main` is known. */
function branchPoint(): string {
  for (const main of ['origin/main', 'main']) {
    const { status, stdout } = spawnSync('git', ['merge-base', 'HEAD', main], { encoding: 'utf8' });
    if (status === 0) return stdout.trim();
  }
  return 'HEAD';
}

process.exitCode = await main();
