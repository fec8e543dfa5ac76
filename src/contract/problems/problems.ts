import { DAEMON_PROBLEMS } from './daemon-problems.ts';
import type { ProblemDefinition } from './problem-definition.ts';

const SERVICE_PROBLEMS = {
  invalid_request: {
    status: 400,
    title: 'Invalid request',
    description: 'A parameter or body field is missing, malformed or out of bounds; `errors` names each.',
  },
  unknown_task: { status: 400, title: 'Unknown task', description: 'No task has this `task_id`.' },
  not_authenticated: {
    status: 401,
    title: 'Not authenticated',
    description:
      'The token is missing or invalid, or there are several different ones. Send one, as bearer or as `svc_token`.',
  },
  control_forbidden: {
    status: 403,
    title: 'Control not available',
    description: 'Control is not exposed on this server, or no admin token is configured.',
  },
  not_found: { status: 404, title: 'Not found', description: 'Nothing is served under this path.' },
  unknown_action: { status: 404, title: 'Unknown action', description: 'No control action has this name.' },
  unknown_destination: {
    status: 404,
    title: 'Unknown destination',
    description: 'The release has no entry with this destination, or the release is not served.',
  },
  no_server_info: {
    status: 404,
    title: 'No server-info document',
    description: 'The selected release has no server-info document. Its upstream does not publish one.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    description: 'The path does not support this method; `Allow` lists the supported ones.',
  },
  request_timeout: {
    status: 408,
    title: 'Request timeout',
    description: 'The request did not arrive in time. Send it faster.',
  },
  release_not_distributable: {
    status: 409,
    title: 'Release not distributable',
    description: 'The selected release is missing, stale, damaged or not distributable; `reason` says which.',
  },
  precondition_failed: {
    status: 412,
    title: 'Precondition failed',
    description: 'A precondition of the request failed.',
  },
  body_too_large: {
    status: 413,
    title: 'Body too large',
    description: 'The request body exceeds the limit.',
  },
  uri_too_long: {
    status: 414,
    title: 'URI too long',
    description: 'The path or query exceeds the limit. Shorten the parameters.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    description: 'A body must be sent as `Content-Type: application/json` without a content coding.',
  },
  range_not_satisfiable: {
    status: 416,
    title: 'Range not satisfiable',
    description: 'No requested range lies inside the resource; `Content-Range` gives its size.',
  },
  too_many_requests: {
    status: 429,
    title: 'Too many requests',
    description: 'The token has reached a limit. Retry after the time in `Retry-After`.',
  },
  headers_too_large: {
    status: 431,
    title: 'Request header fields too large',
    description: 'The request line and the header fields exceed the limit. Send fewer or shorter ones.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    description: 'Something failed inside the service. The log has the details under the id in `instance`.',
  },
  not_implemented: {
    status: 501,
    title: 'Not implemented',
    description: 'The daemon does not implement the requested action.',
  },
  daemon_rejected: {
    status: 502,
    title: 'Daemon rejected the request',
    description:
      'The daemon answered, and rejected the action. `daemon` has its status and code: an unknown id (404), a conflict (409), an unmet precondition (422) or a part of the daemon that cannot be used (503). The detail says why; the same request fails again until that changes.',
  },
  daemon_unreachable: {
    status: 502,
    title: 'Daemon unreachable',
    description: 'The action could not be sent to the daemon, which may be starting or down. Retry.',
  },
  backend_unavailable: {
    status: 503,
    title: 'Backend unavailable',
    description:
      'The daemon backend behind this report is not available; the detail names it, and says why where the daemon does.',
  },
  not_distributable: {
    status: 503,
    title: 'Not distributable',
    description: 'The current release must not be served now; `reason` says why.',
  },
  overloaded: {
    status: 503,
    title: 'Overloaded',
    description: 'This server has reached a limit; retry later.',
  },
} as const satisfies Record<string, ProblemDefinition>;

/** Every code that a problem body can carry. */
export const PROBLEMS = { ...SERVICE_PROBLEMS, ...DAEMON_PROBLEMS } as const;

export type ProblemCode = keyof typeof PROBLEMS;

/** Whether text is a code of the catalogue. */
export function isProblemCode(text: string): text is ProblemCode {
  return Object.hasOwn(PROBLEMS, text);
}
