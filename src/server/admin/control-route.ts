import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

import { isControlAction, type ControlAction } from '../../contract/actions/actions.ts';
import { parseIdempotencyKey } from '../../contract/actions/idempotency-key.ts';
import { parseControlBody } from '../../contract/actions/parse-control-body.ts';
import { stringifyJsonExact } from '../../contract/json/json-exact.ts';
import { ADMIN_OPERATIONS } from '../../contract/operations/operations-admin.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { renderProblem } from '../../platform/http/problem.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import { maskStrings, type SecretMask } from '../../platform/logging/secret-mask.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { jsonHeaders, NO_STORE, type Answer } from '../http/answer.ts';
import type { DaemonPresence } from '../daemon-client/daemon-presence.ts';
import type { DaemonClient } from '../daemon-client/daemon-client.ts';
import type { TokenCaller } from '../http/token-verifier.ts';
import type { AdminGate, AdminVisitor } from './admin-gate.ts';
import type { AdminMetrics, ForwardOutcome } from './admin-metrics.ts';
import { checkAdminQuery } from './admin-reads.ts';
import { beginControlAudit, createControlAuditLog, type ControlAudit } from './control-audit.ts';
import { readJsonBody } from '../../platform/http/json-body.ts';
import { isCrossSite } from './cross-site.ts';
import { acceptedActionOf, daemonUnreachable, type AcceptedAction } from './daemon-answers.ts';

/** Settings and collaborators of the control route. */
export interface ControlRouteOptions {
  readonly gate: AdminGate;
  readonly client: Pick<DaemonClient, 'postControl'>;
  readonly presence: DaemonPresence;
  readonly metrics: Pick<AdminMetrics, 'forwarded'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly secrets: Pick<SecretMask, 'mask'>;
  /** Whether the server forwards actions. */
  readonly exposed: boolean;
  readonly publicBaseUrl: string;
}

/** One control call. */
export interface ControlRequest {
  readonly request: IncomingMessage;
  /** Not decoded, without the `?`. */
  readonly query: string;
  /** Each `Authorization` field. */
  readonly authorization: readonly string[];
  /** Address that the call came from. */
  readonly source: string;
  readonly response: AdminVisitor['response'];
  /** As sent. */
  readonly action: string;
  readonly requestId: string;
}

/**
 * Makes the function that answers control calls and writes the audit line of each. The order of its checks is part of
 * the interface: token configured, token right, control exposed, action known, body good. It throws ServiceError.
 */
export function createControlRoute(options: ControlRouteOptions): (call: ControlRequest) => Promise<Answer> {
  const writeAudit = createControlAuditLog(options.logger);
  return async (call) => {
    const { requestId } = call;
    const audit = beginControlAudit();
    try {
      const answer = await answerControl(call, audit, options);
      writeAudit(audit, { status: answer.status, code: null, requestId });
      return answer;
    } catch (error) {
      const { status, code } = renderProblem(error, requestId);
      writeAudit(audit, { status, code, requestId });
      throw error;
    }
  };
}

async function answerControl(
  call: ControlRequest,
  audit: ControlAudit,
  options: ControlRouteOptions,
): Promise<Answer> {
  const { request, action } = call;
  const query = new URLSearchParams(call.query);
  const caller = await options.gate.admit({ ...call, query }, 'control');
  audit.tokenId = caller.tokenId;
  checkIsAllowed(request, options);
  if (!isControlAction(action)) {
    throw new ServiceError('unknown_action', 'No control action has this name; /admin/ lists them all.');
  }
  audit.action = action;
  checkAdminQuery(ADMIN_OPERATIONS.postControl, query, call.query);
  const parsed = parseControlBody(action, await readJsonBody(request));
  if (!parsed.ok) {
    throw new ServiceError(
      'invalid_request',
      `The body of ${action} is not valid; "errors" names each field.`,
      { errors: parsed.error },
    );
  }
  const body = stringifyJsonExact(maskStrings(parsed.value.body, options.secrets));
  audit.argsDigest = createHash('sha256').update(body).digest('hex');
  const { body: answer, accepted } = await forwardAction(action, body, { call, caller, options });
  audit.taskId = accepted.task_id;
  return { status: 202, headers: jsonHeaders(NO_STORE), body: [answer] };
}

function checkIsAllowed(
  { headers }: IncomingMessage,
  { exposed, publicBaseUrl }: Pick<ControlRouteOptions, 'exposed' | 'publicBaseUrl'>,
): void {
  if (!exposed) {
    throw new ServiceError(
      'control_forbidden',
      'Control is not exposed on this server; set admin.exposeControl to allow it.',
    );
  }
  if (isCrossSite(headers, publicBaseUrl)) {
    throw new ServiceError('control_forbidden', 'Control calls from pages of other sites are rejected.');
  }
}

async function forwardAction(
  action: ControlAction,
  body: string,
  {
    call,
    caller,
    options,
  }: { readonly call: ControlRequest; readonly caller: TokenCaller; readonly options: ControlRouteOptions },
): Promise<AcceptedAction> {
  const { client, presence, metrics, clock } = options;
  const begun = clock.monotonic();
  const idempotencyKey = parseIdempotencyKey(call.request.headers['idempotency-key']);
  const observe = (outcome: ForwardOutcome): void => {
    metrics.forwarded('control', outcome, (clock.monotonic() - begun) / 1000);
  };
  try {
    // The call continues even if the client disconnects, because the audit line states its result.
    const { signal } = new AbortController();
    const { requestId } = call;
    const answer = await presence.observe(
      async () => await client.postControl(action, body, { caller, idempotencyKey, requestId, signal }),
    );
    const accepted = acceptedActionOf(action, answer);
    observe('ok');
    return accepted;
  } catch (error) {
    const failure =
      error instanceof ServiceError ? error : daemonUnreachable(action, error, presence.state());
    observe(failure.code === 'daemon_unreachable' ? 'unavailable' : 'refused');
    throw failure;
  }
}
