import { isControlAction } from '../../contract/actions/actions.ts';
import { parseControlBody } from '../../contract/actions/parse-control-body.ts';
import { parseQuery } from '../../contract/operations/query-parser.ts';
import { NoQuery } from '../../contract/operations/query.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import { jsonAnswer, type ApiAnswer, type ApiRequest } from './api-answer.ts';
import type { ActionHandler } from './ports.ts';
import { parseJsonBody } from './request-body.ts';

/** What control actions are started with. */
export interface ControlRouteDependencies {
  /** Handlers by the names of the contract; an action without one is not implemented. */
  readonly actions: ReadonlyMap<string, ActionHandler>;
  readonly logger: Logger;
}

/** Visible ASCII. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * Starts one control action.
 *
 * @returns 202 with the task
 * @throws ServiceError `unknown_action`, `not_implemented`, `invalid_request`; ServiceError or TaskError of the handler
 */
export async function answerControl(
  deps: ControlRouteDependencies,
  action: string,
  request: ApiRequest,
): Promise<ApiAnswer> {
  if (!isControlAction(action)) throw new ServiceError('unknown_action', 'no control action has this name');
  const query = parseQuery(NoQuery, request.query);
  if (!query.ok) {
    throw new ServiceError('invalid_request', 'control actions have no query', { errors: query.error });
  }
  const idempotencyKey = parseIdempotencyKey(request.headers['idempotency-key']);
  const parsed = parseControlBody(action, parseJsonBody(await request.readBody()));
  if (!parsed.ok) {
    throw new ServiceError(
      'invalid_request',
      `the body of ${action} is not valid; "errors" names each field`,
      {
        errors: parsed.error,
      },
    );
  }
  const handler = deps.actions.get(action);
  if (handler === undefined)
    throw new ServiceError('not_implemented', `this daemon does not implement ${action}`);
  const { body, ignoredFields } = parsed.value;
  const { task, deduplicated } = await handler(body, { idempotencyKey, correlationId: request.requestId });
  deps.logger.info(
    { action, task_id: task.task_id, status: task.status, deduplicated, request_id: request.requestId },
    'action accepted',
  );
  return jsonAnswer(202, {
    accepted: true,
    action,
    task_id: task.task_id,
    status: task.status,
    deduplicated,
    ignored_fields: ignoredFields,
    ...(task.finished_at === null ? {} : { result: task.result ?? {} }),
  });
}

function parseIdempotencyKey(header: string | readonly string[] | undefined): string | null {
  if (header === undefined) return null;
  if (typeof header === 'string' && IDEMPOTENCY_KEY.test(header)) return header;
  throw new ServiceError('invalid_request', 'the Idempotency-Key header is malformed', {
    errors: [{ pointer: 'Idempotency-Key', message: 'must be 1 to 255 visible ASCII characters' }],
  });
}
