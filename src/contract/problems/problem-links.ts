/** Where `docs/runbooks` is published; a problem with a reason links to `REASON.md` below it. */
export const RUNBOOK_BASE = 'https://slipway.dev/runbooks/';
