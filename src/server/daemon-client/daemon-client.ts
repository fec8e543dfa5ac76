import { traceHeaders } from '../../platform/logging/trace.ts';
import { ENVELOPE_MAX_BYTES } from '../../contract/formats/attestation-format.ts';
import {
  CONDITION_HEADERS,
  CONDITION_TAG_MAX,
  parseConditions,
} from '../../contract/formats/condition-headers.ts';
import type { DaemonCondition } from '../../domain/service-state/daemon-conditions.ts';
import type { ReportedObject } from '../../contract/formats/damage-report.ts';
import { z } from 'zod';
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
export const CONTROL_MAX_BYTES = 1024 * 1024;

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
   * The conditions in the daemon's last answer about its attestation, even if it refused; `null` when it had
   * none.
   */
  conditions(): readonly DaemonCondition[] | null;
  /**
   * By how many seconds the clock of the daemon was ahead of the clock here at its last answer about its attestation, negative
   * when it was behind; `null` when the answer had no time.
   */
  clockAhead(): number | null;
  /**
   * Asks for one report.
   *
   * @param name a report name of the contract, such as `release.list`
   * @returns the JSON object, integers beyond 2^53 as bigint
   * @throws DaemonUnavailable, or the signal's reason
   */
  fetchReport(
    name: string,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, unknown>>>;
  /**
   * Reports objects that are missing or damaged on the volume.
   *
   * @param reports 1 to 1000
   * @throws DaemonUnavailable, also when the daemon refuses them; or the signal's reason
   */
  postDamage(reports: readonly ReportedObject[], signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Address of the daemon, token and time limit. */
export interface DaemonAddress {
  /** Origin of the daemon, such as `http://127.0.0.1:8091`. */
  readonly url: string;
  /** Unix socket to use instead of the URL's host. */
  readonly socketPath: string | undefined;
  readonly readToken: () => Promise<string | null>;
  /** Total milliseconds for an answer, in addition to the wait of a long poll. */
  readonly timeoutMs: number;
}

/** Makes a client whose polls and reports use separate connections, so that none waits for another. */
export function createDaemonClient(options: DaemonAddress, clock: Clock): DaemonClient {
  const open = (connections: number, keepAlive: boolean): HttpClient =>
    createHttpClient({ connections, keepAlive, socketPath: options.socketPath });
  const polls = open(1, true);
  const reports = open(8, true);
  const damage = open(1, false);
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
      told = conditionsIn(answer);
      clockAhead = secondsAhead(answer, clock);
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
    postDamage: async (reports, signal) => {
      const answer = await ask(damage, '/v1/damage', {
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
      for (const client of [polls, reports, damage]) client.close();
    },
  };
}

interface ToldConditions {
  readonly conditions: readonly DaemonCondition[] | null;
  readonly tag: string | null;
}

function conditionsIn({ headers = {} }: BoundedAnswer): ToldConditions {
  const conditions = parseConditions(headers[CONDITION_HEADERS.conditions] ?? null);
  const tag = headers[CONDITION_HEADERS.tag] ?? null;
  return { conditions, tag: tag !== null && tag.length <= CONDITION_TAG_MAX ? tag : null };
}

/** The time of an answer: the IMF-fixdate of RFC 9110, section 6.6.1, in whole seconds. */
const DATE_HEADER = 'date';

function secondsAhead({ headers = {} }: BoundedAnswer, clock: Clock): number | null {
  const at = Date.parse(headers[DATE_HEADER] ?? '');
  return Number.isNaN(at) ? null : Math.round((at - clock.now()) / 1000);
}

/**
 * Reads the token that the daemon requires.
 *
 * @throws DaemonUnavailable `token_unreadable`
 */
export async function readDaemonToken(read: DaemonAddress['readToken']): Promise<string | null> {
  return await read().catch((cause: unknown) => {
    throw new DaemonUnavailable('token_unreadable', 'the token file for the daemon cannot be read', {
      cause,
    });
  });
}

interface DaemonCall {
  readonly headers: Record<string, string>;
  readonly waitMs: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  readonly wantedHeaders?: readonly string[];
  /** If present, the call is a POST. */
  readonly body?: string;
}

async function callDaemon(
  { url, readToken, timeoutMs }: DaemonAddress,
  client: HttpClient,
  path: string,
  { headers, wantedHeaders, waitMs, maxBytes, signal, body }: DaemonCall,
): Promise<BoundedAnswer> {
  const token = await readDaemonToken(readToken);
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

function problemCode(answer: BoundedAnswer): string | null {
  try {
    const problem = ProblemCode.safeParse(parseJsonAnswer(answer));
    return problem.success ? problem.data.code : null;
  } catch {
    // A body that is not JSON has no code; the status is enough.
    return null;
  }
}
