import { JsonError } from '../../contract/json/json-error.ts';
import { parseJsonExact, stringifyJsonExact } from '../../contract/json/json-exact.ts';
import { ProblemSchema } from '../../contract/problems/problem-schema.ts';
import { collectBounded } from '../../platform/memory/collect-bounded.ts';
import { CTL_EXITS, CtlFailure, failureOfProblem } from './ctl-exits.ts';

/** Largest answer that is read: that of the largest report. */
const ANSWER_MAX_BYTES = 64 * 1024 * 1024;

/** A good answer: its bytes as they came, and what they say. */
export interface AdminAnswer {
  readonly body: Buffer;
  /** As `parseJsonExact` gives it. */
  readonly value: unknown;
}

/** The service as `slipway ctl` reaches it. */
export interface AdminApi {
  /**
   * Reads one document.
   *
   * @param accept further statuses whose body is an answer, such as the 503 of `/readyz`
   * @throws CtlFailure
   */
  get(
    path: string,
    query?: Readonly<Record<string, string>>,
    accept?: readonly number[],
  ): Promise<AdminAnswer>;
  /**
   * Posts a control action.
   *
   * @param body JSON text, sent as it is; `null` for none
   * @param idempotencyKey makes sure that the action is done once, however often it is sent
   * @throws CtlFailure
   */
  post(action: string, body: string | null, idempotencyKey: string): Promise<AdminAnswer>;
}

/** What {@link createAdminApi} needs. */
export interface AdminApiOptions {
  /** Origin, with a path below which the service is where there is one. */
  readonly url: URL;
  readonly token: string | null;
  /** For one request, milliseconds. */
  readonly timeoutMs: number;
  /** Aborted when the command is interrupted. */
  readonly signal: AbortSignal;
}

/** Makes the client. The token goes out in a header only, and never to where a redirect points. */
export function createAdminApi({ url, token, timeoutMs, signal }: AdminApiOptions): AdminApi {
  const base = url.href.replace(/\/+$/, '');

  const ask = async (path: string, init: RequestInit, accept: readonly number[]): Promise<AdminAnswer> => {
    const headers = { accept: 'application/json', ...(init.headers as Record<string, string> | undefined) };
    const deadline = AbortSignal.timeout(timeoutMs);
    try {
      const response = await fetch(`${base}${path}`, {
        ...init,
        headers: token === null ? headers : { ...headers, authorization: `Bearer ${token}` },
        redirect: 'manual',
        signal: AbortSignal.any([signal, deadline]),
      });
      const body = await collectBounded(
        response.body ?? [],
        ANSWER_MAX_BYTES,
        () => new Error(`the answer exceeds ${ANSWER_MAX_BYTES} bytes`),
      );
      return answerOf(base, response, body, accept);
    } catch (error) {
      if (error instanceof CtlFailure) throw error;
      signal.throwIfAborted();
      throw unreachable(
        base,
        deadline.aborted ? `no answer within ${timeoutMs / 1000} s` : reasonOf(error),
        error,
      );
    }
  };

  return {
    get: async (path, query = {}, accept = []) => {
      const search = new URLSearchParams(query).toString();
      return await ask(search === '' ? path : `${path}?${search}`, {}, accept);
    },
    post: async (action, body, idempotencyKey) =>
      await ask(
        `/admin/control/${action}`,
        {
          method: 'POST',
          headers: {
            'idempotency-key': idempotencyKey,
            ...(body === null ? {} : { 'content-type': 'application/json' }),
          },
          body,
        },
        [],
      ),
  };
}

/** Renders an answer for people: the JSON text of the service, indented, every number exact. */
export function indentJson({ value }: AdminAnswer): string {
  return stringifyJsonExact(value, 2);
}

function answerOf(base: string, response: Response, body: Buffer, accept: readonly number[]): AdminAnswer {
  const { status } = response;
  const value = parseBody(body);
  if (value !== undefined && (response.ok || accept.includes(status))) return { body, value };
  const problem = ProblemSchema.safeParse(value);
  if (problem.success && problem.data.status === status) throw failureOfProblem(problem.data);
  throw unreachable(base, `it answers ${status}, but not as Slipway does`, undefined);
}

/** `undefined` for what is not JSON. */
function parseBody(body: Buffer): unknown {
  try {
    return parseJsonExact(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (error) {
    if (error instanceof JsonError || error instanceof TypeError) return undefined;
    throw error;
  }
}

function unreachable(base: string, reason: string, cause: unknown): CtlFailure {
  return new CtlFailure(
    CTL_EXITS.unreachable,
    `${base} cannot be used: ${reason}. Check --url (or SLIPWAY_CTL_URL), or use --kubectl.`,
    { cause },
  );
}

/** What fetch failed of: the reason is in its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  return cause.message === '' && 'code' in cause ? String(cause.code) : cause.message;
}
