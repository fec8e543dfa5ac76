import type { Report, ReportName } from '../api/wire.ts';
import type { App } from './app.ts';
import { fillReport } from './fill-report.ts';

/** Where a report is read. */
export function reportPath({ contract }: Pick<App, 'contract'>, name: ReportName): string {
  return contract.reports.find(({ report }) => report === name)?.path ?? '';
}

/**
 * Reads a report once.
 *
 * @throws ApiFailure
 */
export async function readReport<N extends ReportName>(
  app: Pick<App, 'contract' | 'api'>,
  name: N,
  query: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<Report<N>> {
  const options = { query, ...(signal ? { signal } : {}) };
  return fillReport(name, await app.api.read(reportPath(app, name), options));
}
