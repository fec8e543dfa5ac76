import { isReportName, REPORTS } from '../../contract/reports/reports.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { unknownName } from '../../contract/problems/value-errors.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { jsonAnswer, type ApiAnswer, type ApiRequest } from './api-answer.ts';
import { parseReportQuery, type DefinedReport } from '../../engine/define-report.ts';

/**
 * Reads one report, in the common envelope.
 *
 * @throws ServiceError `unknown_report`, `invalid_request`, `backend_unavailable`, or the error of the handler
 */
export async function readReport(
  options: {
    /** Keyed by name. A report of the contract that is missing here is unavailable. */
    readonly reports: ReadonlyMap<string, DefinedReport>;
    readonly clock: Clock;
    readonly version: string;
    readonly bootId: string;
  },
  name: string,
  request: ApiRequest,
): Promise<ApiAnswer> {
  if (!isReportName(name)) {
    throw new ServiceError('unknown_report', unknownName('report', name, Object.keys(REPORTS)));
  }
  const report = options.reports.get(name);
  if (report === undefined) {
    parseReportQuery(name, request.query);
    throw new ServiceError('backend_unavailable', `this daemon has no ${REPORTS[name].backend} backend`);
  }
  const body = await report.answer(request.query, request.signal);
  return jsonAnswer(200, {
    report: name,
    generated_at: unixSeconds(options.clock),
    daemon: { version: options.version, boot_id: options.bootId },
    ...body,
  });
}
