/** The `type` of a problem is its code below this address. */
export const PROBLEM_TYPE_BASE = 'https://slipway.dev/problems/';

/** Where `docs/runbooks` is published; a problem with a reason links to `REASON.md` below it. */
export const RUNBOOK_BASE = 'https://slipway.dev/runbooks/';
