import type { ControlAction } from '../../contract/actions/actions.ts';
import { isProblemCode, PROBLEMS, type ProblemCode } from '../../contract/problems/problems.ts';
import { ProblemSchema } from '../../contract/problems/problem-schema.ts';
import { REPORTS, type ReportName } from '../../contract/reports/reports.ts';
import { AcceptedAnswer, type Accepted } from '../../contract/schemas/answers/admin.ts';
import { ServiceError, type ServiceErrorOptions } from '../../contract/problems/service-error.ts';
import { daemonAbsence } from '../../domain/service-state/daemon-absence.ts';
import type { ServiceReason } from '../../domain/service-state/service-reasons.ts';
import type { BoundedAnswer } from '../../platform/http/http-client.ts';
import type { DaemonState } from '../daemon-client/daemon-presence.ts';
import { DaemonUnavailable } from '../daemon-client/daemon-unavailable.ts';
import { readJsonObject } from '../daemon-client/json-answer.ts';

/** Seconds after which a client may ask for a report again. */
const RETRY_AFTER_SECONDS = 5;
/** Longest text of the daemon that is passed on, characters. */
const MAX_DETAIL = 1_000;
const MAX_ERRORS = 50;

/** The fields of a refusal that are passed on; all others are dropped. */
const DaemonProblem = ProblemSchema.pick({ code: true, detail: true, errors: true }).partial();

/**
 * Turns the daemon's answer to a read into the answer of this service.
 *
 * @param answer from a `ReportForwarder`, which has checked the body of a report
 * @returns the bytes of the report: one JSON object, exactly as the daemon sent it
 * @throws ServiceError 400 for a query that the daemon refused, 503 `backend_unavailable` for everything else, with the daemon's
 *   reason when a part of it cannot be used
 */
export function reportBodyOf(report: ReportName, answer: BoundedAnswer): Buffer {
  if (answer.status === 200) return answer.body;
  const problem = readProblem(answer);
  const isUnknownTask = problem.code === 'unknown_task' && answer.status === 404;
  if (answer.status === 400 || isUnknownTask) throw badRequest(answer, problem);
  const cause = new DaemonUnavailable(
    'answer_refused',
    `the daemon answered ${answer.status} for ${report}`,
    {
      status: answer.status,
      daemonCode: problem.code,
    },
  );
  if (partIsUnavailable(problem))
    throw unavailable(report, cause, problem.detail, secondsOf(answer.retryAfter));
  if (answer.status === 501 || problem.code === 'unknown_report') {
    const missing = 'This daemon does not have it: its version may be older than that of the server.';
    throw unavailable(report, cause, missing, null);
  }
  throw unavailable(report, cause, null, RETRY_AFTER_SECONDS);
}

/** The seconds of a `Retry-After`; `null` where the daemon says nothing, because waiting does not help. */
function secondsOf(retryAfter: string | undefined): number | null {
  return retryAfter !== undefined && /^[0-9]{1,5}$/.test(retryAfter) ? Number(retryAfter) : null;
}

/**
 * The 503 of a read that got no usable answer.
 *
 * @param cause what went wrong, for the log
 * @param state of the daemon as this server sees it; `null` when it answered
 */
export function backendUnavailable(
  report: ReportName,
  cause: unknown,
  state: DaemonState | null,
): ServiceError {
  if (state === null || state.failure === null) return unavailable(report, cause, null, RETRY_AFTER_SECONDS);
  const { reason } = daemonAbsence(state.failure, state.since);
  return unavailable(report, cause, state.message, RETRY_AFTER_SECONDS, reason);
}

/**
 * @param message why, and what to do; `null` if it is not known
 * @param retryAfter seconds; `null` if the report stays unavailable until somebody acts
 * @param reason that of the state of the service, where the daemon is away
 */
function unavailable(
  report: ReportName,
  cause: unknown,
  message: string | null,
  retryAfter: number | null,
  reason?: ServiceReason,
): ServiceError {
  const { backend } = REPORTS[report];
  const what = `The daemon's ${backend} backend is not available for ${report}`;
  return new ServiceError(
    'backend_unavailable',
    message === null ? `${what}; retry, and check /healthz if this persists.` : `${what}. ${message}`,
    {
      ...failureOptions(cause),
      ...(retryAfter === null ? {} : { retryAfter }),
      ...(reason === undefined ? {} : { reason }),
    },
  );
}

/** An action that the daemon accepted. */
export interface AcceptedAction {
  readonly body: Buffer;
  readonly accepted: Accepted;
}

/**
 * Turns the daemon's answer to an action into the answer of this service.
 *
 * @throws ServiceError 400, 403 `scope_missing`, 501 `not_implemented`, 502 `daemon_rejected` or `daemon_unreachable`
 */
export function acceptedActionOf(action: ControlAction, answer: BoundedAnswer): AcceptedAction {
  const { status } = answer;
  if (status === 202) {
    try {
      return { body: answer.body, accepted: AcceptedAnswer.schema.parse(readJsonObject(answer)) };
    } catch (error) {
      throw daemonUnreachable(action, error, null);
    }
  }
  const problem = readProblem(answer);
  const daemon = { status, code: problem.code };
  if (status === 400) throw badRequest(answer, problem);
  if (status === 403 && problem.code === 'scope_missing') {
    throw new ServiceError('scope_missing', problem.detail ?? `The token may not call ${action}.`, {
      daemon,
    });
  }
  if (status === 501) {
    throw new ServiceError('not_implemented', `The daemon does not implement ${action}.`, { daemon });
  }
  if ((status >= 400 && status < 500) || partIsUnavailable(problem)) {
    throw new ServiceError(
      'daemon_rejected',
      problem.detail === null
        ? `The daemon rejected ${action}.`
        : `The daemon rejected ${action}: ${problem.detail}`,
      { daemon, ...(problem.errors === null ? {} : { errors: problem.errors }) },
    );
  }
  throw daemonUnreachable(
    action,
    new DaemonUnavailable('answer_refused', `the daemon answered ${status} for ${action}`, {
      status,
      daemonCode: problem.code,
    }),
    null,
  );
}

/**
 * The 502 of an action that the daemon did not get, or may or may not have carried out.
 *
 * @param cause what went wrong, for the log
 * @param state of the daemon as this server sees it; `null` when it answered
 */
export function daemonUnreachable(
  action: ControlAction,
  cause: unknown,
  state: DaemonState | null,
): ServiceError {
  const outcome =
    cause instanceof DaemonUnavailable && cause.wasNotSent
      ? `The daemon could not be reached for ${action}; the action was not sent.`
      : `The daemon gave no usable answer to ${action}; the action may have started. Check /admin/tasks before you retry, or retry with the same Idempotency-Key.`;
  const message = state?.message ?? null;
  return new ServiceError(
    'daemon_unreachable',
    message === null ? outcome : `${outcome} ${message}`,
    failureOptions(cause),
  );
}

function failureOptions(cause: unknown): ServiceErrorOptions {
  const known = cause instanceof DaemonUnavailable ? cause : null;
  return {
    daemon: { status: known?.status ?? null, code: known?.daemonCode ?? null },
    internal: known === null ? String(cause) : `${known.code}: ${known.message}`,
    cause,
  };
}

function badRequest(
  { status }: BoundedAnswer,
  { code, detail, errors }: ReturnType<typeof readProblem>,
): ServiceError {
  const known: ProblemCode =
    code !== null && isProblemCode(code) && PROBLEMS[code].status === 400 ? code : 'invalid_request';
  return new ServiceError(known, detail ?? 'The daemon rejected the parameters.', {
    ...(errors === null ? {} : { errors }),
    daemon: { status, code },
  });
}

const PARTLY_UNAVAILABLE: ReadonlySet<string | null> = new Set([
  'backend_unavailable',
  'file_not_found',
  'standby',
]);

/** Whether the daemon works but the part that was asked cannot be used; its detail then says why and what to do. */
function partIsUnavailable({ code, detail }: ReadProblem): boolean {
  return detail !== null && PARTLY_UNAVAILABLE.has(code);
}

interface ReadProblem {
  /** One word, in the form of the catalogue's codes. */
  readonly code: string | null;
  readonly detail: string | null;
  readonly errors: NonNullable<ServiceErrorOptions['errors']> | null;
}

/** Reads the body of a refusal. A body that is not a problem yields no fields, and the status decides alone. */
function readProblem(answer: BoundedAnswer): ReadProblem {
  const nothing: ReadProblem = { code: null, detail: null, errors: null };
  try {
    const { code, detail, errors } = DaemonProblem.parse(readJsonObject(answer));
    return {
      code: code !== undefined && /^[a-z0-9_]{1,64}$/.test(code) ? code : null,
      detail: detail?.slice(0, MAX_DETAIL) ?? null,
      errors: errors?.slice(0, MAX_ERRORS) ?? null,
    };
  } catch {
    return nothing;
  }
}
