import type { ContainerOutcome, ParsedUnit } from '../container/parsed-container.ts';
import type { ParseTotals } from './parse-totals.ts';

/** Renders what `slipway parse` prints. */
export interface ParsePrinter {
  /** @param isFirst whether they are the first units of their container */
  units(destination: string, units: readonly ParsedUnit[], isFirst: boolean): string;
  /** @param units the units that the container handed over, printed or not */
  outcome(destination: string, outcome: ContainerOutcome, units: number, isFirst: boolean): string;
  summary(totals: ParseTotals, seconds: number): string;
}
