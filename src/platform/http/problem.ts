import { PROBLEM_TYPE_BASE, RUNBOOK_BASE, runbookAddress } from '../../contract/problems/problem-links.ts';
import { PROBLEMS, type ProblemCode } from '../../contract/problems/problems.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { PROBLEM_MEDIA_TYPE } from '../../contract/json/media-types.ts';

/** An error as it goes over the wire, and as it goes into the log. */
export interface RenderedProblem {
  readonly status: number;
  readonly code: ProblemCode;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** `error` for failures of this service, `info` for refusals and states that have a name. */
  readonly logLevel: 'error' | 'info';
  /** For the log only: what the body does not tell. */
  readonly internal: string | undefined;
}

/**
 * Renders any error as problem details. A {@link ServiceError} gives its catalogue row, detail and extensions; anything
 * else gives `internal_error` without a word of what happened: that is in `internal`, for the log.
 *
 * @param requestId becomes `instance`; the log line carries the same id
 * @param runbooks address of the folder of the runbooks, with a slash at its end; `null` for no link to one
 *
 * Source: RFC 9457, sections 3.1 and 3.2; RFC 9110, sections 10.2.3 (Retry-After) and 11.6.1 (WWW-Authenticate).
 */
export function renderProblem(
  error: unknown,
  requestId: string,
  headers: Readonly<Record<string, string>> = {},
  runbooks: string | null = RUNBOOK_BASE,
): RenderedProblem {
  const known = error instanceof ServiceError ? error : internalError(error);
  const { status, title } = PROBLEMS[known.code];
  const { reason, errors, daemon, retryAfter, internal } = known.options;
  const body = Buffer.from(
    JSON.stringify({
      type: `${PROBLEM_TYPE_BASE}${known.code}`,
      title,
      status,
      detail: known.message,
      instance: requestId,
      code: known.code,
      reason,
      documentation: reason === undefined || runbooks === null ? undefined : runbookAddress(runbooks, reason),
      errors,
      daemon,
    }),
  );
  return {
    status,
    code: known.code,
    headers: {
      'content-type': PROBLEM_MEDIA_TYPE,
      'content-length': String(body.length),
      'cache-control': 'no-store',
      ...(retryAfter === undefined ? {} : { 'retry-after': String(Math.max(0, Math.ceil(retryAfter))) }),
      ...(status === 401 ? { 'www-authenticate': 'Bearer realm="slipway"' } : {}),
      ...headers,
    },
    body,
    logLevel: known.code === 'internal_error' ? 'error' : 'info',
    internal,
  };
}

/**
 * Answers with a rendered problem; a HEAD request gets the headers alone. When an answer has begun already, nothing
 * true can be added to it, so the connection is cut.
 */
export function sendProblem(
  response: {
    readonly headersSent: boolean;
    readonly req: { readonly method?: string | undefined };
    writeHead(status: number, headers: Record<string, string>): unknown;
    end(body?: Buffer): unknown;
    destroy(error?: Error): unknown;
  },
  problem: RenderedProblem,
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(problem.status, { ...problem.headers });
  if (response.req.method === 'HEAD') response.end();
  else response.end(problem.body);
}

function internalError(cause: unknown): ServiceError {
  return new ServiceError(
    'internal_error',
    'Something failed inside the service. The log has the details under the id in "instance".',
    { internal: cause instanceof Error ? (cause.stack ?? cause.message) : String(cause), cause },
  );
}
