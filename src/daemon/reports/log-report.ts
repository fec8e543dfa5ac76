import { defineReport, type DefinedReport } from '../../engine/define-report.ts';
import type { LogRing } from './log-ring.ts';

/** The report `daemon.logs`. */
export function logReport(ring: Pick<LogRing, 'tail'>): DefinedReport {
  return defineReport('daemon.logs', ({ tail }) => ({ lines: ring.tail(tail) }));
}
