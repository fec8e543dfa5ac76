import { isProblemCode } from '../../contract/problems/problems.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { renderProblem, type RenderedProblem } from '../../platform/http/problem.ts';
import { storageTaskError } from '../../engine/tasks/storage-task-error.ts';
import { TaskError } from '../../engine/tasks/task.ts';

/**
 * Statuses of refused actions that differ from those of the catalogue: a report on an unknown task is a bad query
 * (400), but an action on an unknown task is refused like one on any other unknown id.
 */
const ACTION_STATUSES: ReadonlyMap<string, number> = new Map([['unknown_task', 404]]);

/**
 * Renders the error with which an action was refused.
 *
 * @param error a TaskError or ServiceError whose code is in the catalogue; any other value becomes `internal_error`
 */
export function renderActionProblem(error: unknown, requestId: string): RenderedProblem {
  const problem = renderProblem(serviceErrorOf(error), requestId);
  const status = ACTION_STATUSES.get(problem.code);
  if (status === undefined) return problem;
  const members = JSON.parse(problem.body.toString('utf8')) as Record<string, unknown>;
  const body = Buffer.from(JSON.stringify({ ...members, status }));
  return { ...problem, status, body, headers: { ...problem.headers, 'content-length': String(body.length) } };
}

/** Converts a TaskError, or an error of the database, to its ServiceError if it has one; returns other errors unchanged. */
function serviceErrorOf(error: unknown): unknown {
  if (error instanceof ServiceError) return error;
  const failure = error instanceof TaskError ? error : storageTaskError(error);
  if (failure === null) return error;
  if (isProblemCode(failure.code)) return new ServiceError(failure.code, failure.message, { cause: error });
  if (failure.code === 'idempotency_key_reused') {
    return new ServiceError('invalid_request', failure.message, {
      errors: [{ pointer: 'Idempotency-Key', message: 'was used for another request' }],
      cause: error,
    });
  }
  return error;
}
