import { REPORTS, type ReportName } from '../../contract/reports/reports.ts';
import type { CtlContext } from './ctl-context.ts';
import { printAnswer, type AnswerText } from './output/print-answer.ts';
import type { ReportOf } from './read-report.ts';
import { reportPath } from './report-path.ts';

/**
 * Reads a report and shows it.
 *
 * @param query parameters of the report
 * @param text makes text for people
 * @returns the report; `null` when it is not one of this version
 * @throws CtlFailure
 */
export async function show<N extends ReportName>(
  context: CtlContext,
  name: N,
  query: Readonly<Record<string, string>>,
  text: AnswerText<ReportOf<N>>,
): Promise<ReportOf<N> | null> {
  const answer = await context.api.get(reportPath(name), query);
  const { render, names } = text;
  return (await printAnswer(context, answer, REPORTS[name].answer.schema, {
    render: (value, view) => render(value as ReportOf<N>, view),
    names: names === undefined ? undefined : (value) => names(value as ReportOf<N>),
  })) as ReportOf<N> | null;
}

/** The parameters that have a value. */
export function given(query: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
