/** Sends requests to the server. The token travels in the `Authorization` header, never in a URL. */

import { parseExact } from './exact-json.js';

/** @import { Problem } from './wire.d.ts' */
/** @import { TokenVault } from './token-vault.js' */

/** The server's own time limit for the daemon is much shorter, milliseconds. */
const TIMEOUT_MS = 30_000;

/** A request that got no answer, or an answer of another kind than requested. */
export class ApiFailure extends Error {
  /**
   * @param {string} message
   * @param {{ status?: number, problem?: Partial<Problem>, retryAfter?: number | null }} [answer]
   */
  constructor(message, { status = 0, problem = {}, retryAfter = null } = {}) {
    super(message);
    this.name = 'ApiFailure';
    /** 0 when there was no answer. */
    this.status = status;
    this.problem = problem;
    /** Seconds that the server asks the client to wait. */
    this.retryAfter = retryAfter;
  }

  /** Whether there was no answer. */
  get isOffline() {
    return this.status === 0;
  }
}

/**
 * @typedef {object} ApiClient
 * @property {(path: string, options?: ReadOptions) => Promise<unknown>} read throws ApiFailure
 * @property {(path: string, body: string, idempotencyKey: string) => Promise<unknown>} control throws ApiFailure
 *
 * @typedef {object} ReadOptions
 * @property {Readonly<Record<string, string>>} [query]
 * @property {readonly number[]} [accept] statuses that do not count as failures; default 200
 * @property {AbortSignal} [signal]
 */

/**
 * @param {object} parts
 * @param {typeof globalThis.fetch} parts.fetch
 * @param {Pick<TokenVault, 'get'>} parts.vault
 * @param {() => void} parts.onUnauthorized called when the server refuses the token
 * @param {(date: string) => void} [parts.onDate] gets the `Date` of every answer of the server
 * @returns {ApiClient}
 */
export function createApiClient({ fetch, vault, onUnauthorized, onDate }) {
  /**
   * @param {string} path
   * @param {RequestInit & { readonly accept: readonly number[] }} init
   */
  const send = async (path, { accept, ...init }) => {
    const token = vault.get();
    const headers = new Headers(init.headers);
    headers.set('accept', 'application/json');
    if (token !== null) headers.set('authorization', `Bearer ${token}`);
    const answer = await exchange(fetch, path, { ...init, headers });
    if (answer.date !== null) onDate?.(answer.date);
    if (accept.includes(answer.status) && answer.body !== null) return answer.body;
    if (answer.status === 401) onUnauthorized();
    const problem = /** @type {Partial<Problem>} */ (
      typeof answer.body === 'object' && answer.body !== null ? answer.body : {}
    );
    throw new ApiFailure(
      problem.detail ?? `The server returned an unexpected answer with status ${answer.status}.`,
      {
        status: answer.status,
        problem,
        retryAfter: answer.retryAfter,
      },
    );
  };

  return {
    read: async (path, { query = {}, accept = [200], signal } = {}) => {
      const search = new URLSearchParams(query).toString();
      return await send(search === '' ? path : `${path}?${search}`, {
        accept,
        ...(signal ? { signal } : {}),
      });
    },
    control: async (path, body, idempotencyKey) =>
      await send(path, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
        accept: [202],
      }),
  };
}

/**
 * @param {typeof globalThis.fetch} fetch
 * @param {string} path
 * @param {RequestInit} init
 */
async function exchange(fetch, path, init) {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(path, {
      ...init,
      signal: init.signal ? AbortSignal.any([init.signal, timeout]) : timeout,
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
    });
    const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
    return {
      status: response.status,
      date: response.headers.get('date'),
      retryAfter: Number.isFinite(retryAfter) ? retryAfter : null,
      body: jsonOf(response.headers.get('content-type') ?? '', await response.text()),
    };
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new ApiFailure(
      timeout.aborted ? 'The server did not answer in time.' : 'The server does not answer.',
    );
  }
}

/**
 * @param {string} contentType
 * @param {string} text
 * @returns {unknown} `null` for a text that is not JSON, which another program than the server has sent
 */
function jsonOf(contentType, text) {
  if (!contentType.includes('json')) return null;
  try {
    return parseExact(text);
  } catch {
    return null;
  }
}
