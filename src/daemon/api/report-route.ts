import { parseQuery } from '../../contract/operations/query-parser.ts';
import { isReportName, REPORTS } from '../../contract/reports/reports.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { jsonAnswer, type ApiAnswer, type ApiRequest } from './api-answer.ts';
import type { ReportHandler } from './ports.ts';

/** What reports are answered from. */
export interface ReportRouteDependencies {
  /** Handlers by the names of the contract; a report without one is unavailable. */
  readonly reports: ReadonlyMap<string, ReportHandler>;
  readonly clock: Clock;
  readonly version: string;
  readonly bootId: string;
}

/**
 * Answers one report, in the envelope that all have.
 *
 * @throws ServiceError `unknown_report`, `invalid_request`, `backend_unavailable`, or what the handler throws
 */
export async function answerReport(
  deps: ReportRouteDependencies,
  name: string,
  request: ApiRequest,
): Promise<ApiAnswer> {
  if (!isReportName(name)) throw new ServiceError('unknown_report', 'no report has this name');
  const { query, backend } = REPORTS[name];
  const parsed = parseQuery(query, request.query);
  if (!parsed.ok) {
    throw new ServiceError(
      'invalid_request',
      `the query of ${name} is not valid; "errors" names each parameter`,
      {
        errors: parsed.error,
      },
    );
  }
  const handler = deps.reports.get(name);
  if (handler === undefined) {
    throw new ServiceError('backend_unavailable', `this daemon has no ${backend} backend`);
  }
  const body = await handler(parsed.value, request.signal);
  return jsonAnswer(200, {
    report: name,
    generated_at: unixSeconds(deps.clock),
    daemon: { version: deps.version, boot_id: deps.bootId },
    ...body,
  });
}
