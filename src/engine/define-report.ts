import { parseQuery } from '../contract/operations/query-parser.ts';
import { ServiceError } from '../contract/problems/service-error.ts';
import { REPORTS, type QueryOf, type ReportBodyOf, type ReportName } from '../contract/reports/reports.ts';

/** Creates the body of a report. Throws a ServiceError when the answer is a specific error. */
type ReportHandler<N extends ReportName> = (
  query: QueryOf<N>,
  signal: AbortSignal,
) => Promise<ReportBodyOf<N>> | ReportBodyOf<N>;

/** A report that this daemon implements. */
export interface DefinedReport {
  readonly name: ReportName;
  /**
   * Answers with the report, without the common envelope.
   *
   * @throws ServiceError `invalid_request`, or the error of the handler
   */
  answer(parameters: URLSearchParams, signal: AbortSignal): Promise<object>;
}

/** Defines a report; the contract's table gives the types of its query and body. */
export function defineReport<N extends ReportName>(name: N, handler: ReportHandler<N>): DefinedReport {
  return {
    name,
    answer: async (parameters, signal) => await handler(parseReportQuery(name, parameters), signal),
  };
}

/** Parses the query of a report. Throws ServiceError `invalid_request`. */
export function parseReportQuery<N extends ReportName>(name: N, parameters: URLSearchParams): QueryOf<N> {
  const parsed = parseQuery(REPORTS[name].query, parameters);
  // While N is generic, the schema has the type of all query schemas together.
  if (parsed.ok) return parsed.value as QueryOf<N>;
  throw new ServiceError(
    'invalid_request',
    `the query of ${name} is not valid; "errors" names each parameter`,
    { errors: parsed.error },
  );
}
