import type { ContainerOutcome, ParsedUnit } from '../container/parsed-container.ts';
import { PARSE_ERROR_CODES } from '../../../contract/reports/parse-error-codes.ts';

export interface ParsePrinter {
  /** @param isFirst whether they are the first units of their container */
  units(destination: string, units: readonly ParsedUnit[], isFirst: boolean): string;
  /** @param units the units that the container handed over, printed or not */
  outcome(destination: string, outcome: ContainerOutcome, units: number, isFirst: boolean): string;
  summary(totals: ParseTotals, seconds: number): string;
}

export interface ParseTotals {
  containers: number;
  readonly byStatus: Record<ContainerOutcome['status'], number>;
  /** Units of containers that did not fail. */
  units: number;
  /** Units beyond the limit of units to print. */
  hidden: number;
  errors: number;
  warnings: number;
  readonly skipped: Record<string, number>;
}

/** The totals before the first container. */
export function emptyTotals(): ParseTotals {
  return {
    containers: 0,
    byStatus: { parsed: 0, partial: 0, unsupported: 0, failed: 0 },
    units: 0,
    hidden: 0,
    errors: 0,
    warnings: 0,
    skipped: {},
  };
}

/**
 * Adds a container to the totals.
 *
 * @param units the units that it handed over; those of a failed container do not count, because the index drops them
 */
export function addOutcome(totals: ParseTotals, outcome: ContainerOutcome, units: number): void {
  totals.containers += 1;
  totals.byStatus[outcome.status] += 1;
  if (outcome.status !== 'failed') totals.units += units;
  for (const { code } of outcome.issues) {
    if (PARSE_ERROR_CODES[code].severity === 'error') totals.errors += 1;
    else totals.warnings += 1;
  }
  for (const [reason, count] of Object.entries(outcome.skipped)) {
    totals.skipped[reason] = (totals.skipped[reason] ?? 0) + count;
  }
}
