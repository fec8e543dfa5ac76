import { traceHeaders } from '../../platform/logging/trace.ts';
import { CALLER_FIELDS, type Caller } from '../../contract/actions/control-scopes.ts';
import { ENVELOPE_MAX_BYTES } from '../../contract/formats/attestation-format.ts';
import {
  CONDITION_HEADERS,
  CONDITION_TAG_MAX,
  parseConditions,
} from '../../contract/formats/condition-headers.ts';
import type { DaemonCondition } from '../../domain/service-state/daemon-conditions.ts';
import type { ReportedObject } from '../../contract/formats/damage-report.ts';
import { z } from 'zod';
import type { ControlAction } from '../../contract/actions/actions.ts';
import { JSON_MEDIA_TYPE } from '../../contract/json/media-types.ts';
import {
  createHttpClient,
  HttpFailure,
  isJsonAnswer,
  parseJsonAnswer,
  type BoundedAnswer,
  type HttpClient,
} from '../../platform/http/http-client.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { DaemonUnavailable, unavailableOf } from './daemon-unavailable.ts';
import { readJsonObject } from './json-answer.ts';

/** Largest report that is read. */
export const REPORT_MAX_BYTES = 8 * 1024 * 1024;

/** Largest answer to a control action that is read. */
const CONTROL_MAX_BYTES = 1024 * 1024;

/** Headers and cancellation of one control call. */
export interface ControlCall {
  readonly caller: Caller;
  /** Passed on so that a repeated call starts nothing new; `null` for none. */
  readonly idempotencyKey: string | null;
  /** Id under which the daemon logs the call. */
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/** The daemon's answer to a question for its attestation. */
export type AttestationAnswer =
  | { readonly kind: 'envelope'; readonly etag: string | null; readonly envelope: Buffer }
  | { readonly kind: 'unchanged' }
  /** The daemon is up and has not issued an attestation. */
  | { readonly kind: 'none' }
  /** The daemon waits for another one, whose attestation is on the volume. */
  | { readonly kind: 'standby' };

/** Calls the daemon's loopback API; every call ends within its deadline. */
export interface DaemonClient {
  /**
   * Asks for the newest attestation.
   *
   * @param request.etag of the attestation already held; the daemon then waits up to `waitSeconds` for another
   * @throws DaemonUnavailable, or the signal's reason
   */
  fetchAttestation(request: {
    readonly etag: string | null;
    readonly waitSeconds: number;
    readonly signal: AbortSignal;
  }): Promise<AttestationAnswer>;
  /**
   * The conditions that the daemon told with its last answer about its attestation, also when it refused; `null` when it told
   * none.
   */
  conditions(): readonly DaemonCondition[] | null;
  /**
   * By how many seconds the clock of the daemon was ahead of the clock here at its last answer about its attestation, negative
   * when it was behind; `null` when it told no time.
   */
  clockAhead(): number | null;
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
   * Posts a control action once. It never retries a failed call, because the daemon may have carried out the action.
   *
   * @param action a name of the allowlist
   * @param body the whole JSON text of the body
   * @returns the daemon's answer, with any status
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

/** Address of the daemon, token and time limit. */
export interface DaemonClientOptions {
  /** Origin of the daemon, such as `http://127.0.0.1:8091`. */
  readonly url: string;
  /** Unix socket to use instead of the URL's host. */
  readonly socketPath: string | undefined;
  /** Returns the token that the daemon requires, or `null`. */
  readonly readToken: () => Promise<string | null>;
  /** Total milliseconds for an answer, in addition to the wait of a long poll. */
  readonly timeoutMs: number;
  readonly clock: Pick<Clock, 'now'>;
}

/** Makes a client whose polls, reports and actions use separate connections, so that none waits for another. */
export function createDaemonClient(options: DaemonClientOptions): DaemonClient {
  const open = (connections: number, keepAlive: boolean): HttpClient =>
    createHttpClient({ connections, keepAlive, socketPath: options.socketPath });
  const polls = open(1, true);
  const reports = open(8, true);
  // Each action has its own connection: if a kept connection closed, nobody could tell whether the action was done.
  const actions = open(4, false);
  const ask = async (client: HttpClient, path: string, call: DaemonCall): Promise<BoundedAnswer> =>
    await callDaemon(options, client, path, call);

  let told: ToldConditions = { conditions: null, tag: null };
  let clockAhead: number | null = null;

  return {
    conditions: () => told.conditions,
    clockAhead: () => clockAhead,
    fetchAttestation: async ({ etag, waitSeconds, signal }) => {
      const { tag } = told;
      const answer = await ask(
        polls,
        etag === null ? '/v1/attestation' : `/v1/attestation?wait=${waitSeconds}`,
        {
          headers: {
            ...(etag === null ? {} : { 'if-none-match': etag }),
            ...(tag === null ? {} : { [CONDITION_HEADERS.tag]: tag }),
          },
          wantedHeaders: [...Object.values(CONDITION_HEADERS), DATE_HEADER],
          waitMs: etag === null ? 0 : waitSeconds * 1000,
          maxBytes: ENVELOPE_MAX_BYTES,
          signal,
        },
      );
      told = toldConditions(answer);
      clockAhead = secondsAhead(answer, options.clock);
      if (answer.status === 304) return { kind: 'unchanged' };
      if (answer.status === 404 && problemCode(answer) === 'no_attestation') return { kind: 'none' };
      if (answer.status === 503 && problemCode(answer) === 'standby') return { kind: 'standby' };
      requireJson(answer, 'attestation');
      return { kind: 'envelope', etag: answer.etag, envelope: answer.body };
    },
    fetchReport: async (name, query, signal) => {
      const search = new URLSearchParams(query).toString();
      const answer = await ask(
        reports,
        `/v1/reports/${encodeURIComponent(name)}${search === '' ? '' : `?${search}`}`,
        { headers: {}, waitMs: 0, maxBytes: REPORT_MAX_BYTES, signal },
      );
      requireJson(answer, name);
      return readJsonObject(answer, { strict: false });
    },
    postControl: async (action, body, { caller, idempotencyKey, requestId, signal }) =>
      await ask(actions, `/v1/control/${encodeURIComponent(action)}`, {
        headers: {
          'content-type': JSON_MEDIA_TYPE,
          'x-request-id': requestId,
          ...callerFields(caller),
          ...(idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey }),
        },
        waitMs: 0,
        maxBytes: CONTROL_MAX_BYTES,
        signal,
        body,
      }),
    postDamage: async (reports, signal) => {
      const answer = await ask(actions, '/v1/damage', {
        headers: { 'content-type': JSON_MEDIA_TYPE },
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
      for (const client of [polls, reports, actions]) client.close();
    },
  };
}

/** The conditions of the daemon, and the tag that names this state of them. */
interface ToldConditions {
  readonly conditions: readonly DaemonCondition[] | null;
  readonly tag: string | null;
}

function toldConditions({ headers = {} }: BoundedAnswer): ToldConditions {
  const conditions = parseConditions(headers[CONDITION_HEADERS.conditions] ?? null);
  const tag = headers[CONDITION_HEADERS.tag] ?? null;
  return { conditions, tag: tag !== null && tag.length <= CONDITION_TAG_MAX ? tag : null };
}

/** The time of an answer: the IMF-fixdate of RFC 9110, section 6.6.1, in whole seconds. */
const DATE_HEADER = 'date';

function secondsAhead({ headers = {} }: BoundedAnswer, clock: Pick<Clock, 'now'>): number | null {
  const at = Date.parse(headers[DATE_HEADER] ?? '');
  return Number.isNaN(at) ? null : Math.round((at - clock.now()) / 1000);
}

/** Tells the daemon who sent a control call. */
function callerFields({ tokenId, allow }: Caller): Record<string, string> {
  return {
    ...(tokenId === null ? {} : { [CALLER_FIELDS.tokenId]: tokenId }),
    ...(allow === null ? {} : { [CALLER_FIELDS.allow]: allow.join(',') }),
  };
}

/** One call to the daemon. */
interface DaemonCall {
  readonly headers: Record<string, string>;
  /** Milliseconds that the daemon may wait before it answers. */
  readonly waitMs: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  readonly wantedHeaders?: readonly string[];
  /** If present, the call is a POST. */
  readonly body?: string;
}

/** @throws DaemonUnavailable, or the signal's reason */
async function callDaemon(
  { url, readToken, timeoutMs }: DaemonClientOptions,
  client: HttpClient,
  path: string,
  { headers, wantedHeaders, waitMs, maxBytes, signal, body }: DaemonCall,
): Promise<BoundedAnswer> {
  const token = await readToken().catch((cause: unknown) => {
    throw new DaemonUnavailable('token_unreadable', 'the token file for the daemon cannot be read', {
      cause,
    });
  });
  try {
    return await client.send({
      url: new URL(path, url),
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...headers, ...traceHeaders() },
      token,
      body,
      timeoutMs: timeoutMs + waitMs,
      maxBytes,
      wantedHeaders,
      signal,
    });
  } catch (error) {
    throw error instanceof HttpFailure ? unavailableOf(error) : error;
  }
}

/** @throws DaemonUnavailable unless the answer is a 200 of a JSON type */
function requireJson(answer: BoundedAnswer, what: string): void {
  const { status, contentType } = answer;
  if (status !== 200) {
    const advice = status === 401 ? '; daemon.tokenFile must name the token file of the daemon' : '';
    throw new DaemonUnavailable('answer_refused', `the daemon answered ${status} for ${what}${advice}`, {
      status,
      daemonCode: problemCode(answer),
    });
  }
  if (!isJsonAnswer(answer)) {
    const type = contentType.slice(0, 80);
    throw new DaemonUnavailable('answer_type', `the daemon sent ${what} as "${type}"`, { status });
  }
}

const ProblemCode = z.object({ code: z.string().regex(/^[a-z0-9_]{1,64}$/) });

/** The `code` of a problem answer, or `null` when it has none in the form of the catalogue. */
function problemCode(answer: BoundedAnswer): string | null {
  try {
    const problem = ProblemCode.safeParse(parseJsonAnswer(answer));
    return problem.success ? problem.data.code : null;
  } catch {
    // A body that is not JSON has no code; the status is enough.
    return null;
  }
}
