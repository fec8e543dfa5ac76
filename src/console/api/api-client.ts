/** Sends requests to the server. The token travels in the `Authorization` header, never in a URL. */

import { parseExact } from '../text/exact-json.ts';
import { randomKey } from './random-key.ts';
import type { Problem } from './wire.ts';

/** The server's own time limit for the daemon is much shorter, milliseconds. */
const TIMEOUT_MS = 30_000;
/** Most requests without an answer that are remembered. */
const MAX_UNANSWERED = 100;

const PASSING = new Set(['data_full', 'data_io_error', 'data_read_only', 'store_locked']);

export class ApiFailure extends Error {
  /** 0 when there was no answer. */
  readonly status: number;
  readonly problem: Partial<Problem>;
  /** Seconds that the server asks the client to wait. */
  readonly retryAfter: number | null;
  /** A proxy that people sign in to has kept the request from the server, so nobody has refused the token. */
  readonly isSignedOut: boolean;

  constructor(
    message: string,
    {
      status = 0,
      problem = {},
      retryAfter = null,
      isSignedOut = false,
    }: {
      readonly status?: number;
      readonly problem?: Partial<Problem>;
      readonly retryAfter?: number | null;
      readonly isSignedOut?: boolean;
    } = {},
  ) {
    super(message);
    this.name = 'ApiFailure';
    this.status = status;
    this.problem = problem;
    this.retryAfter = retryAfter;
    this.isSignedOut = isSignedOut;
  }

  get isOffline(): boolean {
    return this.status === 0;
  }

  /** The daemon's code, otherwise that of the server; empty when the answer has none. */
  get code(): string {
    return this.problem.daemon?.code ?? this.problem.code ?? '';
  }

  get isPassing(): boolean {
    const { status, problem, code } = this;
    // The server answers 502 where the daemon has refused; the daemon's own status says more.
    const own = problem.code === 'daemon_rejected' ? (problem.daemon?.status ?? status) : status;
    return this.isOffline || own >= 500 || [408, 425, 429].includes(own) || PASSING.has(code);
  }
}

function signedOut(): ApiFailure {
  return new ApiFailure(
    'A proxy in front of the server wants you to sign in again. Do so in another tab; this page then continues.',
    { isSignedOut: true },
  );
}

/** The failure of a call, also of one that failed before it was sent. */
export function failureOf(error: unknown): ApiFailure {
  return error instanceof ApiFailure ? error : new ApiFailure(String(error));
}

interface ReadOptions {
  readonly query?: Readonly<Record<string, string>>;
  readonly accept?: readonly number[];
  readonly signal?: AbortSignal;
}

export interface ApiClient {
  /** @throws ApiFailure */
  read(path: string, options?: ReadOptions): Promise<unknown>;
  /**
   * Sends an action. The same body sent again after an answer that was lost has the same `Idempotency-Key`, so that nothing
   * is done twice.
   *
   * @param body JSON
   * @param key for a caller that keeps the key itself, longer than the page lives
   * @throws ApiFailure
   */
  control(path: string, body: string, key?: string): Promise<unknown>;
}

/** Makes the client of one page. */
export function createApiClient({
  fetch,
  token: ownToken,
  onUnauthorized,
  onDate,
}: {
  readonly fetch: typeof globalThis.fetch;
  /** The token of the reader; `null` without one. */
  readonly token: () => string | null;
  readonly onUnauthorized: () => void;
  readonly onDate?: (date: string) => void;
}): ApiClient {
  const send = async (
    path: string,
    { accept, ...init }: RequestInit & { readonly accept: readonly number[] },
  ): Promise<unknown> => {
    const token = ownToken();
    const headers = new Headers(init.headers);
    headers.set('accept', 'application/json');
    if (token !== null) headers.set('authorization', `Bearer ${token}`);
    const { status, date, body, retryAfter } = await exchange(fetch, path, { ...init, headers });
    if (date !== null) onDate?.(date);
    if (accept.includes(status) && body !== null) return body;
    if (status === 401) {
      if (!isProblem(body)) throw signedOut();
      // A late answer to an older token says nothing about the one that the page has now. A read asks again; an action is not done
      // under the token of someone else.
      const newer = ownToken();
      if (newer === token) onUnauthorized();
      else if (newer !== null && init.method === undefined) return await send(path, { accept, ...init });
    }
    const problem = isProblem(body) ? body : {};
    const message = problem.detail ?? `The server returned an unexpected answer with status ${status}.`;
    throw new ApiFailure(message, { status, problem, retryAfter });
  };

  const unanswered = new Map<string, string>();
  const sendOnce = async (request: string, post: (key: string) => Promise<unknown>): Promise<unknown> => {
    const key = unanswered.get(request) ?? randomKey();
    unanswered.set(request, key);
    const [oldest] = unanswered.keys();
    if (unanswered.size > MAX_UNANSWERED && oldest !== undefined) unanswered.delete(oldest);
    try {
      const answer = await post(key);
      unanswered.delete(request);
      return answer;
    } catch (error) {
      if (isRefusal(error)) unanswered.delete(request);
      throw error;
    }
  };

  return {
    read: async (path, { query = {}, accept = [200], signal } = {}) => {
      const search = new URLSearchParams(query).toString();
      return await send(search === '' ? path : `${path}?${search}`, {
        accept,
        ...(signal ? { signal } : {}),
      });
    },
    control: async (path, body, givenKey) => {
      const post = async (key: string): Promise<unknown> =>
        await send(path, {
          method: 'POST',
          body,
          headers: { 'content-type': 'application/json', 'idempotency-key': key },
          accept: [202],
        });
      return await (givenKey === undefined ? sendOnce(`${path}\n${body}`, post) : post(givenKey));
    },
  };
}

/** Whether the server itself has sent this refusal. A proxy in between has other forms, of which `{}` is one. */
function isProblem(body: unknown): body is Partial<Problem> {
  return typeof body === 'object' && body !== null && 'code' in body;
}

/** Whether the request was surely not carried out. An answer of 5xx can come from a proxy in between. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiFailure && error.status >= 400 && error.status < 500;
}

interface Exchanged {
  readonly status: number;
  readonly date: string | null;
  readonly retryAfter: number | null;
  /** `null` for a text that is not JSON, which another program than the server has sent. */
  readonly body: unknown;
}

async function exchange(fetch: typeof globalThis.fetch, path: string, init: RequestInit): Promise<Exchanged> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(path, {
      ...init,
      signal: init.signal ? AbortSignal.any([init.signal, timeout]) : timeout,
      cache: 'no-store',
      // The cookie of a proxy that people sign in to; Slipway has none.
      credentials: 'same-origin',
      redirect: 'manual',
      referrerPolicy: 'no-referrer',
    });
    // The server redirects no report and no action; the page that a proxy redirects to is for people.
    if (response.type === 'opaqueredirect') throw signedOut();
    const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
    return {
      status: response.status,
      date: response.headers.get('date'),
      retryAfter: Number.isFinite(retryAfter) ? retryAfter : null,
      body: jsonOf(response.headers.get('content-type') ?? '', await response.text()),
    };
  } catch (cause) {
    if (init.signal?.aborted || cause instanceof ApiFailure) throw cause;
    throw new ApiFailure(
      timeout.aborted ? 'The server did not answer in time.' : 'The server does not answer.',
    );
  }
}

function jsonOf(contentType: string, text: string): unknown {
  if (!contentType.includes('json')) return null;
  try {
    return parseExact(text);
  } catch {
    return null;
  }
}
