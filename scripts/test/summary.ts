import type { Outcome } from './outcome.ts';

/** A stage that has ended. */
export interface Row extends Outcome {
  readonly name: string;
  readonly seconds: number;
}

/** How many failures are printed again at the end. */
const MOST_FAILURES = 10;
/** How many of the slowest test files are listed. */
const SLOWEST = 10;

/**
 * Prints a table of the stages, the slowest files, the failures, and `N passed, N failed` as the last line.
 *
 * @param skipsFail whether a skipped test counts as failed
 * @returns the number of failed tests and checks
 */
export function printSummary(rows: readonly Row[], { skipsFail }: { readonly skipsFail: boolean }): number {
  console.log('\nstage          passed  failed  skipped  seconds');
  for (const row of rows) {
    console.log(
      `${row.name.padEnd(14)} ${pad(row.passed, 6)} ${pad(row.failed, 7)} ${pad(row.skipped, 8)} ${pad(row.seconds.toFixed(1), 8)}`,
    );
  }
  printSlowest(rows);
  printFailures(rows);
  const total = (key: 'passed' | 'failed' | 'skipped'): number =>
    rows.reduce((sum, row) => sum + row[key], 0);
  const skipped = total('skipped');
  const failed = total('failed') + (skipsFail ? skipped : 0);
  if (skipped > 0) console.log(`\n${skipped} skipped because a tool is missing; see above`);
  console.log(`\n${total('passed')} passed, ${failed} failed`);
  return failed;
}

function printSlowest(rows: readonly Row[]): void {
  const files = rows.flatMap((row) => row.files ?? []).toSorted((a, b) => b.seconds - a.seconds);
  if (files.length === 0) return;
  console.log('\nslowest files');
  for (const { path, seconds } of files.slice(0, SLOWEST))
    console.log(`${pad(seconds.toFixed(1), 8)}  ${path}`);
}

function printFailures(rows: readonly Row[]): void {
  const failures = rows.flatMap((row) => (row.failures ?? []).map((each) => `in ${row.name}: ${each}`));
  for (const failure of failures.slice(0, MOST_FAILURES)) console.log(`\nFAILED ${failure}`);
  if (failures.length > MOST_FAILURES)
    console.log(`\nand ${failures.length - MOST_FAILURES} more, see above`);
}

function pad(value: number | string, width: number): string {
  return String(value).padStart(width);
}
