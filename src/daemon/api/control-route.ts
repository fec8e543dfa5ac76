import { CONTROL_ACTIONS, isControlAction } from '../../contract/actions/actions.ts';
import { parseIdempotencyKey } from '../../contract/actions/idempotency-key.ts';
import { parseQuery } from '../../contract/operations/query-parser.ts';
import { NoQuery } from '../../contract/schemas/query.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { unknownName } from '../../contract/problems/value-errors.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import { maskStrings, type SecretMask } from '../../platform/logging/secret-mask.ts';
import { callerOf } from '../../engine/caller.ts';
import { jsonAnswer, type ApiAnswer, type ApiRequest } from './api-answer.ts';
import { parseBody, type DefinedAction } from '../../engine/define-action.ts';

/**
 * Starts one control action.
 *
 * @returns 202 with the task
 * @throws ServiceError `unknown_action`, `not_implemented`, `invalid_request`, `scope_missing`; ServiceError or TaskError of the handler
 */
export async function answerControl(
  options: {
    /** Keyed by name. An action of the contract that is missing here is not implemented. */
    readonly actions: ReadonlyMap<string, DefinedAction>;
    readonly logger: Logger;
    readonly secrets: SecretMask;
  },
  action: string,
  request: ApiRequest,
): Promise<ApiAnswer> {
  if (!isControlAction(action)) {
    throw new ServiceError('unknown_action', unknownName('action', action, CONTROL_ACTIONS));
  }
  const query = parseQuery(NoQuery, request.query);
  if (!query.ok) {
    throw new ServiceError('invalid_request', 'control actions have no query', { errors: query.error });
  }
  const idempotencyKey = parseIdempotencyKey(request.headers['idempotency-key']);
  const caller = callerOf(request.headers);
  const { secrets } = options;
  const value = maskStrings(await request.readBody(), secrets);
  const defined = options.actions.get(action);
  if (defined === undefined) {
    parseBody(action, value);
    throw new ServiceError('not_implemented', `this daemon does not implement ${action}`);
  }
  const { task, deduplicated, ignoredFields } = await defined.accept(value, {
    idempotencyKey,
    correlationId: secrets.mask(request.requestId),
    caller,
  });
  options.logger.info(
    {
      action,
      task_id: task.task_id,
      status: task.status,
      deduplicated,
      request_id: request.requestId,
      token_id: caller.tokenId,
    },
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
