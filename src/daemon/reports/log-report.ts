import type { ReportHandler } from '../api/ports.ts';
import type { LogRing } from './log-ring.ts';

/** The report `daemon.logs`. */
export function createLogReport(ring: Pick<LogRing, 'tail'>): ReportHandler {
  return (query) => ({ lines: ring.tail(Number(query['tail'])) });
}
