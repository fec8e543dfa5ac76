/** The `type` of a problem is its code below this address. */
export const PROBLEM_TYPE_BASE = 'https://slipway.dev/problems/';

/** An address that runbooks can be below. Everybody who reads a problem sees it, so it carries no credentials. */
export const RUNBOOK_ADDRESS = /^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/;

/** Where a server publishes `docs/runbooks` itself, without a token. */
export const RUNBOOK_BASE = '/admin/dashboard/runbooks/';

/**
 * The address of a runbook. A server's own pages have no ending; a copy of `docs/runbooks`, as in a repository or a wiki, has files.
 *
 * @param base address of the folder, with a slash at its end
 */
export function runbookAddress(base: string, reason: string): string {
  return `${base}${reason}${base.endsWith(RUNBOOK_BASE) ? '' : '.md'}`;
}

/** The runbooks that problems of public routes link to. Clients of these need not reach the server's own. */
export function publicRunbooks(base: string): string | null {
  return base === RUNBOOK_BASE ? null : base;
}
