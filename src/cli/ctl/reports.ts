import type { z } from 'zod';
import { listOperations } from '../../contract/operations/operations.ts';
import { REPORTS, type ReportName } from '../../contract/reports/reports.ts';
import type { AdminAnswer, AdminApi } from './admin-api.ts';
import type { CtlContext } from './ctl-context.ts';
import { CTL_EXITS, CtlFailure } from './ctl-exits.ts';
import { printAnswer, type AnswerText } from './output/print-answer.ts';

type ReportOperation = { readonly path: string; readonly summary: string };

/** The admin operation of each report. Public routes change reports, so they are left out. */
export const REPORT_OPERATIONS: ReadonlyMap<ReportName, ReportOperation> = new Map(
  listOperations().flatMap(({ auth, daemon, path, summary }): Array<[ReportName, ReportOperation]> =>
    auth === 'admin' && daemon !== undefined && 'report' in daemon
      ? [[daemon.report, { path, summary }]]
      : [],
  ),
);

/** The path of one report. */
export function reportPath(report: ReportName): string {
  const path = REPORT_OPERATIONS.get(report)?.path;
  if (path === undefined) throw new Error(`no operation returns ${report}`);
  return path;
}

/** A report as its schema gives it. */
export type ReportOf<N extends ReportName> = z.output<(typeof REPORTS)[N]['answer']['schema']>;

/**
 * Reads a report.
 *
 * @throws CtlFailure, also for an answer of another version
 */
export async function readReport<N extends ReportName>(
  api: AdminApi,
  name: N,
  query: Readonly<Record<string, string>> = {},
): Promise<ReportOf<N>> {
  return parseReport(name, await api.get(reportPath(name), query));
}

/** Parses the answer of a report. @throws CtlFailure for an answer of another version */
export function parseReport<N extends ReportName>(name: N, { value }: AdminAnswer): ReportOf<N> {
  const parsed = REPORTS[name].answer.schema.safeParse(value);
  if (parsed.success) return parsed.data as ReportOf<N>;
  throw new CtlFailure(
    CTL_EXITS.unreachable,
    `the daemon sent a report ${name} that this version cannot read; use the slipway of the daemon's version`,
  );
}

/**
 * Reads a report and shows it.
 *
 * @param query parameters of the report
 * @param text makes text for people
 * @throws CtlFailure, also when the report is not one that this version can read
 */
export async function show<N extends ReportName>(
  context: CtlContext,
  name: N,
  query: Readonly<Record<string, string>>,
  text: AnswerText<ReportOf<N>>,
): Promise<ReportOf<N>> {
  const answer = await context.api.get(reportPath(name), query);
  const { render, names } = text;
  return (await printAnswer(context, answer, REPORTS[name].answer.schema, {
    render: (value, view) => render(value as ReportOf<N>, view),
    names: names === undefined ? undefined : (value) => names(value as ReportOf<N>),
  })) as ReportOf<N>;
}

/** The parameters that have a value. */
export function given(query: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
