import { parseJsonExact } from '../../contract/json/json-exact.ts';
import type { BoundedAnswer } from './bounded-answer.ts';
import { DaemonUnavailable } from './daemon-unavailable.ts';

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i;

/**
 * The body of an answer.
 *
 * @throws DaemonUnavailable `answer_type` or `answer_invalid` for anything but one JSON object in UTF-8 without repeated keys
 */
export function readJsonObject({ status, contentType, body }: BoundedAnswer): object {
  if (!JSON_TYPE.test(contentType)) {
    throw new DaemonUnavailable('answer_type', `the daemon sent "${contentType.slice(0, 80)}"`, { status });
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
    const value = parseJsonExact(text, { strict: true });
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch (cause) {
    throw new DaemonUnavailable('answer_invalid', 'the daemon sent no JSON', { status, cause });
  }
  throw new DaemonUnavailable('answer_invalid', 'the daemon sent no JSON object', { status });
}
