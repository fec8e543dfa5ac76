import { isRecord } from '../../domain/is-record.ts';
import { HttpFailure, parseJsonAnswer, type BoundedAnswer } from '../../platform/http/http-client.ts';
import { DaemonUnavailable, unavailableOf } from './daemon-unavailable.ts';

/**
 * Parses an answer of the daemon that must be one JSON object.
 *
 * @param options.strict also rejects repeated keys
 * @throws DaemonUnavailable `answer_type` or `answer_invalid`
 */
export function readJsonObject(
  answer: BoundedAnswer,
  options: { readonly strict: boolean } = { strict: true },
): Readonly<Record<string, unknown>> {
  try {
    const value = parseJsonAnswer(answer, options);
    if (isRecord(value)) return value;
  } catch (error) {
    throw error instanceof HttpFailure ? unavailableOf(error) : error;
  }
  throw new DaemonUnavailable('answer_invalid', "the daemon's answer is not a JSON object", {
    status: answer.status,
  });
}
