import type { Outcome, TestFile } from './outcome.ts';

/** A stage that has ended. */
export interface Row extends Outcome {
  readonly name: string;
  readonly seconds: number;
}

/** How many failures, and how many skipped tests, are printed again at the end. */
const MAX_LISTED = 10;
/** How many of the dearest test files of a stage are listed. */
const DEAREST = 10;

/** The end of a run. */
export interface Summary {
  /** Ends with `N passed, N failed`. */
  readonly text: string;
  /** Number of failed tests and checks. */
  readonly failed: number;
}

/**
 * Renders the table of the stages, the files of each that took most of a processor, the failures and the totals.
 *
 * @param skipsFail whether a skipped test counts as failed
 */
export function renderSummary(rows: readonly Row[], { skipsFail }: { readonly skipsFail: boolean }): Summary {
  const total = (key: 'passed' | 'failed' | 'skipped'): number =>
    rows.reduce((sum, row) => sum + row[key], 0);
  const skipped = total('skipped');
  const failed = total('failed') + (skipsFail ? skipped : 0);
  const lines = [
    ...tableOf(rows),
    ...rows.flatMap(dearestOf),
    ...failuresOf(rows),
    ...skipsOf(rows),
    ...(skipped > 0 ? ['', `${skipped} skipped because a tool is missing; see above`] : []),
    '',
    `${total('passed')} passed, ${failed} failed`,
  ];
  return { text: lines.join('\n'), failed };
}

function tableOf(rows: readonly Row[]): string[] {
  return [
    '',
    // Processors: how many were busy on average. A stage with a small number waits, one with a great number computes.
    'stage          passed  failed  skipped  seconds  processor seconds  processors',
    ...rows.map(({ name, passed, failed, skipped, seconds, processorSeconds }) =>
      [
        name.padEnd(14),
        pad(passed, 6),
        pad(failed, 7),
        pad(skipped, 8),
        pad(seconds.toFixed(1), 8),
        ...(processorSeconds === undefined
          ? []
          : [pad(processorSeconds.toFixed(1), 18), pad((processorSeconds / seconds).toFixed(2), 11)]),
      ].join(' '),
    ),
  ];
}

function dearestOf({ name, files: unsorted = [] }: Row): string[] {
  const files = unsorted.toSorted((a, b) => costOf(b) - costOf(a));
  if (files.length === 0) return [];
  return [
    '',
    ` seconds  of a processor  dearest files of ${name}`,
    ...files
      .slice(0, DEAREST)
      .map(
        ({ path, seconds, processorSeconds }) =>
          `${pad(seconds.toFixed(1), 8)}  ${pad(processorSeconds?.toFixed(1) ?? '', 14)}  ${path}`,
      ),
  ];
}

/** Wall time depends on what else ran. */
function costOf({ seconds, processorSeconds = seconds }: TestFile): number {
  return processorSeconds;
}

function failuresOf(rows: readonly Row[]): string[] {
  const failures = rows.flatMap((row) => (row.failures ?? []).map((each) => `in ${row.name}: ${each}`));
  const more = failures.length - MAX_LISTED;
  return [
    ...failures.slice(0, MAX_LISTED).flatMap((failure) => ['', `FAILED ${failure}`]),
    ...(more > 0 ? ['', `and ${more} more, see above`] : []),
  ];
}

function skipsOf(rows: readonly Row[]): string[] {
  const skips = rows.flatMap((row) => (row.skips ?? []).map((each) => `SKIPPED in ${row.name}: ${each}`));
  return skips.length === 0 ? [] : ['', ...skips.slice(0, MAX_LISTED)];
}

function pad(value: number | string, width: number): string {
  return String(value).padStart(width);
}
