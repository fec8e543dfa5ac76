import type { ReportHandler } from '../api/define-report.ts';
import type { LogRing } from './log-ring.ts';

/** The report `daemon.logs`. */
export function createLogReport(ring: Pick<LogRing, 'tail'>): ReportHandler<'daemon.logs'> {
  return ({ tail }) => ({ lines: ring.tail(tail) });
}
