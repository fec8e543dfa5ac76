import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { stringifyJsonExact } from '../../contract/json/json-exact.ts';
import { JSON_MEDIA_TYPE } from '../../contract/json/media-types.ts';

/** A request as the routes see it. */
export interface ApiRequest {
  readonly headers: IncomingHttpHeaders;
  readonly query: URLSearchParams;
  /** Appears in logs and problem bodies. */
  readonly requestId: string;
  /** Aborted when the caller disconnects or the daemon stops. */
  readonly signal: AbortSignal;
  /**
   * Reads the whole JSON body.
   *
   * @returns the value; `undefined` when there is no body
   * @throws ServiceError `body_too_large`, `unsupported_media_type`, `invalid_request`
   */
  readBody(): Promise<unknown>;
}

/** A complete answer. */
export interface ApiAnswer {
  readonly status: number;
  /** Lower-case names, without `content-length`. */
  readonly headers: Readonly<Record<string, string>>;
  /** `null` for a status that never has a body (304). */
  readonly body: Buffer | null;
}

/** A JSON answer that caches must not store. */
export function jsonAnswer(status: number, value: unknown): ApiAnswer {
  return {
    status,
    headers: { 'content-type': JSON_MEDIA_TYPE, 'cache-control': 'no-store' },
    body: Buffer.from(stringifyJsonExact(value)),
  };
}

/** Sends an answer; the answer to a HEAD request is only the headers. */
export function sendAnswer(response: ServerResponse, answer: ApiAnswer, head: boolean): void {
  const { body } = answer;
  response.writeHead(answer.status, {
    ...answer.headers,
    ...(body === null ? {} : { 'content-length': String(body.length) }),
  });
  response.end(head || body === null ? undefined : body);
}
