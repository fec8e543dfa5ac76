import { parseDamageReports } from '../../contract/formats/damage-report.ts';
import { parseQuery } from '../../contract/operations/query-parser.ts';
import { NoQuery } from '../../contract/schemas/query.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { jsonAnswer, type ApiAnswer, type ApiRequest } from './api-answer.ts';
import type { ReportDamage } from '../../releases/checks/damage-reports.ts';

/**
 * Accepts reports of damage on the snapshot volume. The objects are checked after the answer.
 *
 * @returns 202 with the numbers of accepted and ignored objects
 * @throws ServiceError `invalid_request`, `body_too_large`, `unsupported_media_type`
 */
export async function answerDamage(reportDamage: ReportDamage, request: ApiRequest): Promise<ApiAnswer> {
  const query = parseQuery(NoQuery, request.query);
  if (!query.ok)
    throw new ServiceError('invalid_request', '/v1/damage has no query', { errors: query.error });
  const reports = parseDamageReports(await request.readBody());
  if (!reports.ok) {
    throw new ServiceError(
      'invalid_request',
      'the body of /v1/damage is not valid; "errors" names each field',
      {
        errors: reports.error,
      },
    );
  }
  return jsonAnswer(202, reportDamage(reports.value));
}
