import { renderQuery } from '../../src/contract/operations/query-parser.ts';
import { REPORTS, type ReportBodyOf, type ReportName } from '../../src/contract/reports/reports.ts';
import type { DefinedReport } from '../../src/engine/define-report.ts';

/** Requests a report as the report route does, and checks the answer against the contract. */
export async function askReport<N extends ReportName>(
  reports: readonly DefinedReport[],
  name: N,
  query: Readonly<Record<string, unknown>> = {},
): Promise<ReportBodyOf<N>> {
  const report = reports.find((each) => each.name === name);
  if (report === undefined) throw new Error(`no report ${name}`);
  const answer = await report.answer(renderQuery(query), new AbortController().signal);
  return REPORTS[name].answer.body.parse(answer) as ReportBodyOf<N>;
}
