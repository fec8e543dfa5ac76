import { listOperations } from '../../contract/operations/operations.ts';
import type { ReportName } from '../../contract/reports/reports.ts';

/** The admin path of each report, from the operation table. Public routes change reports, so they are left out. */
export const REPORT_PATHS: ReadonlyMap<ReportName, string> = new Map(
  listOperations().flatMap(({ auth, daemon, path }): Array<[ReportName, string]> =>
    auth === 'admin' && daemon !== undefined && 'report' in daemon ? [[daemon.report, path]] : [],
  ),
);

/** The path of one report. */
export function reportPath(report: ReportName): string {
  const path = REPORT_PATHS.get(report);
  if (path === undefined) throw new Error(`no operation returns ${report}`);
  return path;
}
