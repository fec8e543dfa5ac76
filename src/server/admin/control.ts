import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

import { isControlAction, type ControlAction } from '../../contract/actions/actions.ts';
import { CALLER_FIELDS, type Caller } from '../../contract/actions/control-scopes.ts';
import { parseIdempotencyKey } from '../../contract/actions/idempotency-key.ts';
import { parseControlBody } from '../../contract/actions/parse-control-body.ts';
import { stringifyJsonExact } from '../../contract/json/json-exact.ts';
import { JSON_MEDIA_TYPE } from '../../contract/json/media-types.ts';
import { ADMIN_OPERATIONS } from '../../contract/operations/operations-admin.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { readJsonBody } from '../../platform/http/json-body.ts';
import { renderProblem } from '../../platform/http/problem.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import { maskStrings, type SecretMask } from '../../platform/logging/secret-mask.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { DaemonPresence } from '../daemon-client/daemon-presence.ts';
import { jsonHeaders, NO_STORE, type Answer } from '../http/answer.ts';
import { contextOf, requireEncoding, requireQuery, type Exchange } from '../http/exchange.ts';
import type { AdmitCaller } from './admin-gate.ts';
import type { AdminMetrics, ForwardOutcome } from './admin-metrics.ts';
import { acceptedActionOf, daemonUnreachable, type AcceptedAction } from './daemon-answers.ts';
import type { DaemonProxy } from './daemon-proxy.ts';

export interface ControlParts {
  readonly admit: AdmitCaller;
  readonly proxy: DaemonProxy;
  readonly presence: DaemonPresence;
  readonly metrics: AdminMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly secrets: SecretMask;
  readonly exposeControl: boolean;
  readonly publicBaseUrl: string;
}

interface ControlCall {
  readonly exchange: Exchange;
  /** As sent. */
  readonly action: string;
  /** The daemon logs it. */
  readonly requestId: string;
}

/** Facts of a call for its audit line; `null` where the call failed before. */
interface ControlAudit {
  tokenId: string | null;
  /** A name of the allowlist, never the caller's text. */
  action: ControlAction | null;
  /** SHA-256 of the validated body as forwarded. */
  argsDigest: string | null;
  taskId: string | null;
}

/**
 * Answers a control call. The order of the checks is part of the interface: token configured, token right, control exposed,
 * action known, body good. Every call, also a refused one, leaves an audit line, without its token and without text of its body.
 *
 * @throws ServiceError
 */
export async function answerControl(call: ControlCall, parts: ControlParts): Promise<Answer> {
  // The line is written at every log level except silent.
  const level = parts.logger.level === 'silent' ? 'silent' : 'info';
  const lines = parts.logger.child({ audit: 'control' }, { level });
  const audit: ControlAudit = { tokenId: null, action: null, argsDigest: null, taskId: null };
  const write = (status: number, code: string | null): void => {
    lines.info(
      {
        token_id: audit.tokenId,
        action: audit.action,
        args_digest: audit.argsDigest,
        status,
        code,
        task_id: audit.taskId,
        request_id: call.requestId,
      },
      'control call',
    );
  };
  try {
    const answer = await carryOut(call, audit, parts);
    write(answer.status, null);
    return answer;
  } catch (error) {
    const { status, code } = renderProblem(error, call.requestId);
    write(status, code);
    throw error;
  }
}

async function carryOut(
  { exchange, action, requestId }: ControlCall,
  audit: ControlAudit,
  parts: ControlParts,
): Promise<Answer> {
  const { request } = exchange;
  const { query: text } = contextOf(request).target;
  const query = new URLSearchParams(text);
  const caller = await parts.admit(exchange, query, 'control');
  audit.tokenId = caller.tokenId;
  checkIsAllowed(request, parts);
  if (!isControlAction(action)) {
    throw new ServiceError('unknown_action', 'No control action has this name; /admin/ lists them all.');
  }
  audit.action = action;
  requireEncoding(text, 'query');
  requireQuery(ADMIN_OPERATIONS.postControl.query, query);
  const parsed = parseControlBody(action, await readJsonBody(request));
  if (!parsed.ok) {
    throw new ServiceError(
      'invalid_request',
      `The body of ${action} is not valid; "errors" names each field.`,
      { errors: parsed.error },
    );
  }
  const body = stringifyJsonExact(maskStrings(parsed.value.body, parts.secrets));
  audit.argsDigest = createHash('sha256').update(body).digest('hex');
  const headers = forwardedFields(request, caller, requestId);
  const { body: answer, accepted } = await forwardAction(action, { exchange, headers, body }, parts);
  audit.taskId = accepted.task_id;
  return { status: 202, headers: jsonHeaders(NO_STORE), body: [answer] };
}

function checkIsAllowed({ headers }: IncomingMessage, { exposeControl, publicBaseUrl }: ControlParts): void {
  if (!exposeControl) {
    throw new ServiceError(
      'control_forbidden',
      'Control is not exposed on this server; set admin.exposeControl to allow it.',
    );
  }
  if (isCrossSite(headers, publicBaseUrl)) {
    throw new ServiceError('control_forbidden', 'Control calls from pages of other sites are rejected.');
  }
}

/**
 * Whether a browser sent this request for a page of another site. Clients other than browsers send neither header.
 *
 * Source: Fetch Metadata Request Headers (W3C), section 2.3; RFC 6454, section 7 (Origin).
 */
function isCrossSite(headers: IncomingHttpHeaders, publicBaseUrl: string): boolean {
  const { origin, host } = headers;
  if (origin !== undefined && origin === new URL(publicBaseUrl).origin) return false;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'cross-site';
  if (origin === undefined) return false;
  // Older browsers: the origin of a page that this server sent under another of its host names is that host name.
  return !URL.canParse(origin) || host === undefined || new URL(origin).host !== host.toLowerCase();
}

function forwardedFields(
  { headers }: IncomingMessage,
  { tokenId, allow }: Caller,
  requestId: string,
): Readonly<Record<string, string>> {
  const idempotencyKey = parseIdempotencyKey(headers['idempotency-key']);
  return {
    'content-type': JSON_MEDIA_TYPE,
    'x-request-id': requestId,
    ...(tokenId === null ? {} : { [CALLER_FIELDS.tokenId]: tokenId }),
    ...(allow === null ? {} : { [CALLER_FIELDS.allow]: allow.join(',') }),
    ...(idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey }),
  };
}

async function forwardAction(
  action: ControlAction,
  {
    exchange,
    headers,
    body,
  }: {
    readonly exchange: Exchange;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  },
  { proxy, presence, metrics, clock }: ControlParts,
): Promise<AcceptedAction> {
  const begun = clock.monotonic();
  const note = (outcome: ForwardOutcome): void => {
    metrics.forwarded('control', outcome, (clock.monotonic() - begun) / 1000);
  };
  try {
    const path = `/v1/control/${action}`;
    const answer = await presence.observe(async () => await proxy.control(exchange, { path, headers, body }));
    const accepted = acceptedActionOf(action, answer);
    note('ok');
    return accepted;
  } catch (error) {
    const failure =
      error instanceof ServiceError ? error : daemonUnreachable(action, error, presence.state());
    note(failure.code === 'daemon_unreachable' ? 'unavailable' : 'refused');
    throw failure;
  }
}
