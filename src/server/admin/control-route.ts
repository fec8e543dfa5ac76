import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

import { isControlAction, type ControlAction } from '../../contract/actions/actions.ts';
import { parseIdempotencyKey } from '../../contract/actions/idempotency-key.ts';
import { parseControlBody } from '../../contract/actions/parse-control-body.ts';
import { stringifyJsonExact } from '../../contract/json/json-exact.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { jsonHeaders, NO_STORE, type Answer } from '../http/answer.ts';
import type { DaemonClient } from '../daemon-client/daemon-client.ts';
import type { AdminGate, AdminVisitor } from './admin-gate.ts';
import type { AdminMetrics } from './admin-metrics.ts';
import type { ControlAudit } from './control-audit.ts';
import { readControlRequestBody } from './control-request-body.ts';
import { isCrossSite } from './cross-site.ts';
import { acceptedActionOf, daemonUnreachable, type AcceptedAction } from './daemon-answers.ts';

/** What {@link createControlRoute} needs. */
export interface ControlRouteOptions {
  readonly gate: AdminGate;
  readonly client: Pick<DaemonClient, 'postControl'>;
  readonly metrics: Pick<AdminMetrics, 'forwarded'>;
  readonly clock: Clock;
  /** Whether actions are forwarded at all. */
  readonly exposed: boolean;
  readonly publicBaseUrl: string;
}

/** One control call. */
export interface ControlRequest {
  readonly request: IncomingMessage;
  readonly visitor: AdminVisitor;
  /** As it was sent. */
  readonly action: string;
  readonly requestId: string;
  /** Checks what is left of the query; throws ServiceError. */
  readonly checkQuery: () => void;
  /** Filled as the call goes on. */
  readonly audit: ControlAudit;
}

/**
 * Makes the function that answers control calls. The order of its checks is part of the interface: token configured,
 * token right, control exposed, action known, body good. It throws ServiceError.
 */
export function createControlRoute(options: ControlRouteOptions): (call: ControlRequest) => Promise<Answer> {
  const { gate, client, metrics, clock } = options;

  const admit = async ({ request, visitor, audit }: ControlRequest): Promise<void> => {
    audit.tokenId = await gate.admit(visitor, 'control');
    if (!options.exposed) {
      throw new ServiceError(
        'control_forbidden',
        'Control is not exposed on this server; set admin.exposeControl to allow it.',
      );
    }
    if (isCrossSite(request.headers, options.publicBaseUrl)) {
      throw new ServiceError('control_forbidden', 'Control calls from pages of other sites are refused.');
    }
  };

  const forward = async (
    action: ControlAction,
    body: string,
    call: ControlRequest,
  ): Promise<AcceptedAction> => {
    const begun = clock.monotonic();
    const idempotencyKey = parseIdempotencyKey(call.request.headers['idempotency-key']);
    const observe = (outcome: Parameters<AdminMetrics['forwarded']>[1]): void => {
      metrics.forwarded('control', outcome, (clock.monotonic() - begun) / 1000);
    };
    try {
      // Not tied to the client: what was begun is to be audited with its result.
      const { signal } = new AbortController();
      const answer = await client.postControl(action, body, {
        idempotencyKey,
        requestId: call.requestId,
        signal,
      });
      const accepted = acceptedActionOf(action, answer);
      observe('ok');
      return accepted;
    } catch (error) {
      const failure = error instanceof ServiceError ? error : daemonUnreachable(action, error);
      observe(failure.code === 'daemon_unreachable' ? 'unavailable' : 'refused');
      throw failure;
    }
  };

  return async (call) => {
    const { request, action, audit } = call;
    await admit(call);
    if (!isControlAction(action)) {
      throw new ServiceError('unknown_action', 'No control action has this name; /admin/ lists them all.');
    }
    audit.action = action;
    call.checkQuery();
    const parsed = parseControlBody(action, await readControlRequestBody(request));
    if (!parsed.ok) {
      throw new ServiceError(
        'invalid_request',
        `The body of ${action} is not valid; "errors" names each field.`,
        { errors: parsed.error },
      );
    }
    const body = stringifyJsonExact(parsed.value.body);
    audit.argsDigest = createHash('sha256').update(body).digest('hex');
    const { body: answer, accepted } = await forward(action, body, call);
    audit.taskId = accepted.task_id;
    return { status: 202, headers: jsonHeaders(NO_STORE), body: [answer] };
  };
}
