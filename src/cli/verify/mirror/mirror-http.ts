import { Agent, request } from 'undici';
import type { HttpAnswer, SendHttp } from '../../../mirror/slipway-source.ts';
import { messageOf } from '../../../platform/errors.ts';

const HEADERS_TIMEOUT_MS = 30_000;
/** Longest wait for the next bytes of a body. */
const BODY_TIMEOUT_MS = 30_000;

/** A server did not answer, or with a status that is not an answer. */
export class MirrorHttpError extends Error {
  /** `null` when there was no answer. */
  readonly status: number | null;

  constructor(status: number | null, message: string) {
    super(message);
    this.name = 'MirrorHttpError';
    this.status = status;
  }
}

/** Sends requests to a mirror. */
export interface MirrorHttp {
  readonly send: SendHttp;
  /** Closes all connections; requests in progress fail. */
  close(): Promise<void>;
}

/**
 * Makes the client of a check from outside: no redirects, no content codings unless a request asks for one, a bound on every wait.
 *
 * @param connections the most connections to one host
 * @param token for every request, or `null`
 */
export function createMirrorHttp(connections: number, token: string | null): MirrorHttp {
  const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
  const agent = new Agent({ connections, headersTimeout: HEADERS_TIMEOUT_MS, bodyTimeout: BODY_TIMEOUT_MS });
  const send: SendHttp = async ({ method, url, headers, accept }, signal): Promise<HttpAnswer> => {
    const response = await request(url, {
      dispatcher: agent,
      method,
      headers: {
        'user-agent': 'slipway-verify',
        'accept-encoding': 'identity',
        ...authorization,
        ...headers,
      },
      signal,
    }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw new MirrorHttpError(null, `${url}: ${messageOf(error)}`);
    });
    const { statusCode: status, body } = response;
    body.on('error', () => undefined); // the reader gets the same error from the iterator
    if (!accept.includes(status)) {
      body.destroy();
      throw new MirrorHttpError(status, `${url} answered ${status}${status === 401 ? adviceOf(token) : ''}`);
    }
    return {
      status,
      headers: response.headers,
      chunks: () => body,
      discard: () => {
        body.destroy();
      },
    };
  };
  return {
    send,
    close: async () => {
      await agent.destroy();
    },
  };
}

function adviceOf(token: string | null): string {
  return token === null
    ? '; it wants a token: put it into a file, and name that with --token-file or --against-token-file'
    : '; it does not take this token';
}
