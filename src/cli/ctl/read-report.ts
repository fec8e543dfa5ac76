import type { z } from 'zod';
import { REPORTS, type ReportName } from '../../contract/reports/reports.ts';
import type { AdminAnswer, AdminApi } from './admin-api.ts';
import { CTL_EXITS, CtlFailure } from './ctl-exits.ts';
import { reportPath } from './report-path.ts';

/** A report as its schema gives it. */
export type ReportOf<N extends ReportName> = z.output<(typeof REPORTS)[N]['answer']['schema']>;

/**
 * Reads a report.
 *
 * @throws CtlFailure, also for an answer of another version
 */
export async function readReport<N extends ReportName>(
  api: Pick<AdminApi, 'get'>,
  name: N,
  query: Readonly<Record<string, string>> = {},
): Promise<ReportOf<N>> {
  return parseReport(name, await api.get(reportPath(name), query));
}

/** Parses the answer of a report. @throws CtlFailure for an answer of another version */
export function parseReport<N extends ReportName>(
  name: N,
  { value }: Pick<AdminAnswer, 'value'>,
): ReportOf<N> {
  const parsed = REPORTS[name].answer.schema.safeParse(value);
  if (parsed.success) return parsed.data as ReportOf<N>;
  throw new CtlFailure(
    CTL_EXITS.unreachable,
    `the daemon sent a report ${name} that this version cannot read; use the slipway of the daemon's version`,
  );
}
