import type { ReportedObject } from '../../contract/formats/damage-report.ts';
import type { ControlAction } from '../../contract/actions/actions.ts';
import { DaemonUnavailable } from './daemon-unavailable.ts';
import { readAnswer, type BoundedAnswer } from './bounded-answer.ts';
import { openLoopbackConnections, type LoopbackConnections } from './loopback-request.ts';

/** Largest attestation envelope that is read. */
export const ATTESTATION_MAX_BYTES = 64 * 1024;

/** Largest report that is read. */
export const REPORT_MAX_BYTES = 8 * 1024 * 1024;

/** Largest answer to a control action that is read. */
const CONTROL_MAX_BYTES = 1024 * 1024;

/** One control action on its way to the daemon. */
export interface ControlCall {
  /** Passed on so that a repetition starts nothing new; `null` for none. */
  readonly idempotencyKey: string | null;
  /** Id under which the daemon logs the call. */
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/** What the daemon says of its attestation. */
export type AttestationAnswer =
  | { readonly kind: 'envelope'; readonly etag: string | null; readonly envelope: Buffer }
  | { readonly kind: 'unchanged' }
  /** The daemon is up and has issued none. */
  | { readonly kind: 'none' };

/** Speaks with the daemon's loopback API; every call ends within its deadline. */
export interface DaemonClient {
  /**
   * Asks for the newest attestation.
   *
   * @param request.etag of the one already held; the daemon then waits up to `waitSeconds` for another
   * @throws DaemonUnavailable, or the signal's reason
   */
  fetchAttestation(request: {
    readonly etag: string | null;
    readonly waitSeconds: number;
    readonly signal: AbortSignal;
  }): Promise<AttestationAnswer>;
  /**
   * Asks for one report.
   *
   * @param name a report name of the contract, such as `release.list`
   * @returns the whole JSON object, integers beyond 2^53 as bigint
   * @throws DaemonUnavailable, or the signal's reason
   */
  fetchReport(
    name: string,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, unknown>>>;
  /**
   * Hands a control action over, once: it is not repeated when it fails, because it may have been done.
   *
   * @param action a name of the allowlist
   * @param body the whole JSON text of the body
   * @returns whatever the daemon answered, of any status
   * @throws DaemonUnavailable, or the signal's reason
   */
  postControl(action: ControlAction, body: string, call: ControlCall): Promise<BoundedAnswer>;
  /**
   * Reports objects that are missing or damaged on the volume.
   *
   * @param reports 1 to 1000
   * @throws DaemonUnavailable, also when the daemon refuses them; or the signal's reason
   */
  postDamage(reports: readonly ReportedObject[], signal: AbortSignal): Promise<void>;
  /** Closes the connections; pending calls fail. */
  close(): Promise<void>;
}

/** What {@link createDaemonClient} needs. */
export interface DaemonClientOptions {
  /** Origin of the daemon, such as `http://127.0.0.1:8091`. */
  readonly url: string;
  /** Unix socket to use instead of the URL's host. */
  readonly socketPath: string | undefined;
  /** Returns the token that the daemon asks for, or `null`. */
  readonly readToken: () => Promise<string | null>;
  /** Total milliseconds for an answer, beside the wait of a long poll. */
  readonly timeoutMs: number;
  /** Turns the text of a report into a value; throws on anything but JSON. */
  readonly parseJson: (text: string) => unknown;
}

/** Makes a client whose polls, reports and actions use connections of their own, so that none waits for another. */
export function createDaemonClient(options: DaemonClientOptions): DaemonClient {
  const open = (connections: number, keepAlive: boolean): LoopbackConnections =>
    openLoopbackConnections({ url: options.url, socketPath: options.socketPath, connections, keepAlive });
  const polls = open(1, true);
  const reports = open(8, true);
  // Each action has a connection of its own: on a kept one that just closed it could not be told whether it was done.
  const actions = open(4, false);

  async function ask(
    connections: LoopbackConnections,
    path: string,
    extra: {
      readonly headers: Record<string, string>;
      readonly waitMs: number;
      readonly maxBytes: number;
      readonly signal: AbortSignal;
      /** Makes it a POST. */
      readonly body?: string;
    },
  ): Promise<BoundedAnswer> {
    const totalMs = options.timeoutMs + extra.waitMs;
    const deadline = AbortSignal.timeout(totalMs);
    const headers: Record<string, string> = {
      accept: 'application/json',
      'accept-encoding': 'identity',
      ...extra.headers,
    };
    const token = await options.readToken().catch((cause: unknown) => {
      throw new DaemonUnavailable('token_unreadable', 'the token file for the daemon cannot be read', {
        cause,
      });
    });
    if (token !== null) headers['authorization'] = `Bearer ${token}`;
    try {
      const answer = await connections.send({
        method: extra.body === undefined ? 'GET' : 'POST',
        path,
        headers,
        body: extra.body,
        signal: AbortSignal.any([extra.signal, deadline]),
      });
      return await readAnswer(answer, extra.maxBytes);
    } catch (error) {
      if (error instanceof DaemonUnavailable) throw error;
      if (extra.signal.aborted) throw extra.signal.reason;
      if (deadline.aborted)
        throw new DaemonUnavailable('timeout', `the daemon gave no complete answer within ${totalMs} ms`, {
          cause: error,
        });
      throw new DaemonUnavailable('unreachable', `the daemon cannot be reached: ${causeOf(error)}`, {
        cause: error,
      });
    }
  }

  return {
    fetchAttestation: async ({ etag, waitSeconds, signal }) => {
      const answer = await ask(
        polls,
        etag === null ? '/v1/attestation' : `/v1/attestation?wait=${waitSeconds}`,
        {
          headers: etag === null ? {} : { 'if-none-match': etag },
          waitMs: etag === null ? 0 : waitSeconds * 1000,
          maxBytes: ATTESTATION_MAX_BYTES,
          signal,
        },
      );
      if (answer.status === 304) return { kind: 'unchanged' };
      if (answer.status === 404 && problemCode(answer.body, options.parseJson) === 'no_attestation')
        return { kind: 'none' };
      requireJson(answer, 'attestation', options.parseJson);
      return { kind: 'envelope', etag: answer.etag, envelope: answer.body };
    },
    fetchReport: async (name, query, signal) => {
      const search = new URLSearchParams(query).toString();
      const answer = await ask(
        reports,
        `/v1/reports/${encodeURIComponent(name)}${search === '' ? '' : `?${search}`}`,
        { headers: {}, waitMs: 0, maxBytes: REPORT_MAX_BYTES, signal },
      );
      requireJson(answer, name, options.parseJson);
      return parseObject(answer.body, name, options.parseJson);
    },
    postControl: async (action, body, { idempotencyKey, requestId, signal }) =>
      await ask(actions, `/v1/control/${encodeURIComponent(action)}`, {
        headers: {
          'content-type': 'application/json',
          'x-request-id': requestId,
          ...(idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey }),
        },
        waitMs: 0,
        maxBytes: CONTROL_MAX_BYTES,
        signal,
        body,
      }),
    postDamage: async (reports, signal) => {
      const answer = await ask(actions, '/v1/damage', {
        headers: { 'content-type': 'application/json' },
        waitMs: 0,
        maxBytes: CONTROL_MAX_BYTES,
        signal,
        body: JSON.stringify({ reports }),
      });
      if (answer.status === 202) return;
      throw new DaemonUnavailable('answer_refused', `the daemon answered ${answer.status} for /v1/damage`, {
        status: answer.status,
      });
    },
    close: async () => {
      for (const connections of [polls, reports, actions]) connections.close();
    },
  };
}

function requireJson(answer: BoundedAnswer, what: string, parseJson: (text: string) => unknown): void {
  const isJson = /^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i.test(answer.contentType);
  if (answer.status !== 200) {
    throw new DaemonUnavailable('answer_refused', `the daemon answered ${answer.status} for ${what}`, {
      status: answer.status,
      daemonCode: isJson ? problemCode(answer.body, parseJson) : null,
    });
  }
  if (!isJson) {
    throw new DaemonUnavailable(
      'answer_type',
      `the daemon sent ${what} as "${answer.contentType.slice(0, 80)}"`,
      {
        status: 200,
      },
    );
  }
}

function parseObject(
  body: Buffer,
  what: string,
  parseJson: (text: string) => unknown,
): Readonly<Record<string, unknown>> {
  try {
    const value = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
    if (isObject(value)) return value;
  } catch (cause) {
    throw new DaemonUnavailable('answer_invalid', `the daemon's ${what} is no JSON`, { status: 200, cause });
  }
  throw new DaemonUnavailable('answer_invalid', `the daemon's ${what} is no JSON object`, { status: 200 });
}

/** The `code` of a problem body, if it is one word of the catalogue's form. */
function problemCode(body: Buffer, parseJson: (text: string) => unknown): string | null {
  try {
    const value = parseJson(body.toString('utf8'));
    const code = isObject(value) ? value['code'] : undefined;
    return typeof code === 'string' && /^[a-z0-9_]{1,64}$/.test(code) ? code : null;
  } catch {
    // The status alone decides; a body that is no JSON merely has no code to add.
    return null;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function causeOf(error: unknown): string {
  if (error instanceof Error) {
    const code = 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : '';
    return `${code}${error.message}`;
  }
  return String(error);
}
