import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import type { ControlAction } from '../../contract/actions/actions.ts';
import { AcceptedAnswer } from '../../contract/schemas/answers/admin.ts';
import { stringifyJsonExact } from '../../contract/json/json-exact.ts';
import { ProblemSchema } from '../../contract/problems/problem-schema.ts';
import {
  createHttpClient,
  HttpFailure,
  parseJsonAnswer,
  type BoundedAnswer,
  type HttpCall,
} from '../../platform/http/http-client.ts';
import { parseRetryAfter } from '../../platform/http/retry-after.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { CTL_EXITS, CtlFailure, deniedFailure, failureOfProblem } from './ctl-exits.ts';
import { JSON_MEDIA_TYPE } from '../../contract/json/media-types.ts';

const ANSWER_MAX_BYTES = 64 * 1024 * 1024;

/** An accepted answer. */
export interface AdminAnswer {
  readonly body: Buffer;
  /** The body as `parseJsonExact` returns it. */
  readonly value: unknown;
}

/** The admin surface of a running service. */
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
   * @param body JSON text, sent unchanged; `null` for none
   * @param idempotencyKey calls with an equal key start the action once
   * @throws CtlFailure
   */
  post(action: string, body: string | null, idempotencyKey: string): Promise<AdminAnswer>;
}

/**
 * Makes the client. The token is sent in a header only, and redirects are not followed.
 *
 * @param options `url`: the origin, with the path under which the service is mounted, if any; `timeoutMs` is for one request
 */
export function createAdminApi({
  url,
  token,
  timeoutMs,
  signal,
  clock,
}: {
  readonly url: URL;
  readonly token: string | null;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}): AdminApi {
  const base = url.href.replace(/\/+$/, '');
  const client = createHttpClient({ connections: 1, keepAlive: true });

  const ask = async (
    path: string,
    call: Partial<HttpCall>,
    accept: readonly number[],
  ): Promise<AdminAnswer> => {
    try {
      const answer = await client.send({
        ...call,
        url: `${base}${path}`,
        token,
        timeoutMs,
        maxBytes: ANSWER_MAX_BYTES,
        signal,
      });
      return answerOf(base, answer, { accept, hasToken: token !== null, now: clock.now() });
    } catch (error) {
      if (!(error instanceof HttpFailure)) throw error;
      throw unreachable(base, error.message, error);
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
            ...(body === null ? {} : { 'content-type': JSON_MEDIA_TYPE }),
          },
          ...(body === null ? {} : { body }),
        },
        [],
      ),
  };
}

/** Sends an action, and reads its result. @throws CtlFailure, also for an answer of another version */
export async function postAction<T>(
  api: AdminApi,
  action: ControlAction,
  body: object,
  result: z.ZodType<T>,
): Promise<T> {
  const { value } = await api.post(action, stringifyJsonExact(body), randomUUID());
  const parsed = AcceptedAnswer.schema.extend({ result }).safeParse(value);
  if (parsed.success) return parsed.data.result;
  throw new CtlFailure(CTL_EXITS.unreachable, 'the daemon sent an answer that this version cannot read');
}

/** How a proxy that people sign in to answers a program. */
const SIGN_IN_STATUSES = new Set([301, 302, 303, 307, 308, 401, 403]);

/** Renders an answer as indented JSON; every number keeps its digits. */
export function indentJson({ value }: AdminAnswer): string {
  return stringifyJsonExact(value, 2);
}

function answerOf(
  base: string,
  answer: BoundedAnswer,
  { accept, hasToken, now }: { accept: readonly number[]; hasToken: boolean; now: number },
): AdminAnswer {
  const { status, body } = answer;
  const value = jsonOf(answer);
  const isAccepted = (status >= 200 && status < 300) || accept.includes(status);
  if (value !== undefined && isAccepted) return { body, value };
  const problem = ProblemSchema.safeParse(value);
  if (problem.success && problem.data.status === status) {
    if (status === 401) throw deniedFailure(base, hasToken, problem.data);
    throw failureOfProblem(problem.data, parseRetryAfter(answer.retryAfter ?? null, now));
  }
  const why = SIGN_IN_STATUSES.has(status)
    ? '; a proxy in front of it wants a sign-in, or leads elsewhere'
    : '';
  throw unreachable(base, `it answered ${status}, and the answer is not from Slipway${why}`, undefined);
}

function jsonOf(answer: BoundedAnswer): unknown {
  try {
    return parseJsonAnswer(answer);
  } catch (error) {
    if (error instanceof HttpFailure) return undefined;
    throw error;
  }
}

function unreachable(base: string, reason: string, cause: unknown): CtlFailure {
  return new CtlFailure(
    CTL_EXITS.unreachable,
    `cannot use ${base}: ${reason}. Check --url (or SLIPWAY_CTL_URL), or use --kubectl.`,
    { cause },
  );
}
