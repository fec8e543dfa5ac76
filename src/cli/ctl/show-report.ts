import { REPORTS, type ReportName } from '../../contract/reports/reports.ts';
import { unixSeconds } from '../../platform/process/clock.ts';
import type { CtlContext } from './ctl-context.ts';
import { printAnswer } from './print-answer.ts';
import { reportPath } from './report-path.ts';

/**
 * Reads a report and shows it.
 *
 * @param query parameters of the report
 * @param render makes text for people; `now` is in Unix seconds
 * @returns the report; `null` when it is not one of this version
 * @throws CtlFailure
 */
export async function show<N extends ReportName>(
  context: CtlContext,
  name: N,
  query: Readonly<Record<string, string>>,
  render: (report: ReturnType<(typeof REPORTS)[N]['answer']['schema']['parse']>, now: number) => string,
): Promise<ReturnType<(typeof REPORTS)[N]['answer']['schema']['parse']> | null> {
  const answer = await context.api.get(reportPath(name), query);
  const now = unixSeconds(context.clock);
  type Report = ReturnType<(typeof REPORTS)[N]['answer']['schema']['parse']>;
  return printAnswer(context, answer, REPORTS[name].answer.schema, (value) =>
    render(value as Report, now),
  ) as Report | null;
}

/** The parameters that have a value. */
export function given(query: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
