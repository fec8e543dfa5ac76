import { Agent as PlainAgent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { z } from 'zod';
import type { Clock } from '../../platform/process/clock.ts';
import { exchange, openResponse, type BoundedResponse } from '../http/bounded-request.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { KubernetesError } from './kubernetes-error.ts';
import { splitLines } from './line-splitter.ts';
import { createTokenSource } from './token-source.ts';

/** One call of the API. */
export interface KubernetesCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Default `application/json`. */
  readonly contentType?: string;
  readonly signal?: AbortSignal | undefined;
  /** Default 15 s. */
  readonly timeoutMs?: number;
}

/** What a watch says. */
export interface WatchEvent {
  readonly type: string;
  readonly object: unknown;
}

/** Speaks with an API server. */
export interface KubernetesClient {
  /**
   * Sends one call, once; only a refused token is read again and tried a second time.
   *
   * @returns the parsed body
   * @throws KubernetesError, ExchangeFailed, the signal's reason
   */
  call(call: KubernetesCall): Promise<unknown>;
  /**
   * Opens a watch; the events end when the API server ends it.
   *
   * @param onOpen called when the API server has taken it, which may be long before the first event
   * @throws as {@link call}, also in the middle of it
   */
  watch(
    path: string,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
    onOpen: () => void,
  ): AsyncGenerator<WatchEvent, void, undefined>;
  /** Closes idle connections. */
  close(): void;
}

const CALL_TIMEOUT_MS = 15_000;
/** A page of 500 large objects; the limit keeps a broken server from filling the memory. */
const ANSWER_MAX_BYTES = 64 * 1024 * 1024;
const MAX_SOCKETS = 16;
const RETRY_AFTER_MAX_SECONDS = 300;

const StatusBody = z.object({ message: z.string(), reason: z.string(), code: z.int() }).partial();
const EventLine = z.object({ type: z.string(), object: z.unknown() });

/**
 * Makes a client. It keeps connections open and follows the rotation of its token.
 *
 * @param userAgent name and version of the program
 */
export function createKubernetesClient(
  access: ClusterAccess,
  clock: Clock,
  userAgent: string,
): KubernetesClient {
  const isSecure = access.server.startsWith('https:');
  const tls = {
    ...(access.ca === null ? {} : { ca: access.ca }),
    ...(access.certificate === null ? {} : access.certificate),
  };
  const settings = { keepAlive: true, maxSockets: MAX_SOCKETS, scheduling: 'lifo' } as const;
  const agent = isSecure ? new SecureAgent({ ...settings, ...tls }) : new PlainAgent(settings);
  // Watches hold their connections, so they must not take those of the calls.
  const watchAgent = isSecure ? new SecureAgent(tls) : new PlainAgent();
  const tokens = createTokenSource(access.token, clock);

  const headersFor = async (refused: boolean): Promise<Record<string, string>> => {
    const token = await tokens.read(refused);
    return {
      accept: 'application/json',
      'user-agent': userAgent,
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    };
  };
  const urlOf = (path: string, query: Readonly<Record<string, string>>): URL => {
    const url = new URL(`${access.server}${path}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url;
  };

  const send = async (call: KubernetesCall, refused: boolean): Promise<BoundedResponse> => {
    const headers = await headersFor(refused);
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    return await exchange({
      url: urlOf(call.path, call.query ?? {}),
      method: call.method,
      headers:
        body === undefined ? headers : { ...headers, 'content-type': call.contentType ?? 'application/json' },
      body,
      connection: { agent },
      timeoutMs: call.timeoutMs ?? CALL_TIMEOUT_MS,
      maxBytes: ANSWER_MAX_BYTES,
      signal: call.signal,
    });
  };

  return {
    call: async (call) => {
      let answer = await send(call, false);
      if (answer.status === 401 && access.token.kind === 'file') answer = await send(call, true);
      if (answer.status < 200 || answer.status > 299) throw refusalOf(answer);
      return parseJson(answer.body.toString('utf8'), `${call.method} ${call.path}`);
    },
    watch: async function* watch(path, query, signal, onOpen) {
      const open = async (refused: boolean): ReturnType<typeof openResponse> =>
        await openResponse({
          url: urlOf(path, { ...query, watch: 'true' }),
          method: 'GET',
          headers: await headersFor(refused),
          connection: { agent: watchAgent },
          signal,
        });
      let response = await open(false);
      if (response.statusCode === 401 && access.token.kind === 'file') {
        response.destroy();
        response = await open(true);
      }
      try {
        if (response.statusCode !== 200) {
          const chunks: Buffer[] = [];
          for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
          throw refusalOf({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks),
          });
        }
        onOpen();
        for await (const line of splitLines(response as AsyncIterable<Buffer>)) {
          yield EventLine.parse(parseJson(line, 'a watch event'));
        }
      } finally {
        response.destroy();
      }
    },
    close: () => {
      agent.destroy();
      watchAgent.destroy();
    },
  };
}

/** The error that an ERROR event of a watch carries. */
export function errorOfEvent(object: unknown): KubernetesError {
  const status = StatusBody.safeParse(object);
  const {
    code = 500,
    reason = '',
    message = 'the watch reported an error',
  } = status.success ? status.data : {};
  return new KubernetesError(code, reason, message);
}

function refusalOf(answer: BoundedResponse): KubernetesError {
  const seconds = Number(answer.headers['retry-after']);
  const retryAfterMs =
    answer.headers['retry-after'] !== undefined && seconds >= 0
      ? Math.min(seconds, RETRY_AFTER_MAX_SECONDS) * 1000
      : null;
  let body: z.output<typeof StatusBody> = {};
  try {
    const parsed = StatusBody.safeParse(JSON.parse(answer.body.toString('utf8')));
    if (parsed.success) body = parsed.data;
  } catch {
    // A proxy in between answers in other words; the status says enough.
  }
  const message = body.message ?? `the API server answered ${answer.status}`;
  return new KubernetesError(answer.status, body.reason ?? '', message, retryAfterMs);
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new KubernetesError(502, 'InvalidAnswer', `${what} was not answered in JSON: ${String(cause)}`);
  }
}
