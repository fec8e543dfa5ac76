/** The `type` of a problem is its code below this address. */
export const PROBLEM_TYPE_BASE = 'https://slipway.dev/problems/';

/** An address that runbooks can be below. Everybody who reads a problem sees it, so it carries no credentials. */
export const RUNBOOK_ADDRESS = /^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/;

/** Where `docs/runbooks` is published, unless a setting says otherwise; a problem with a reason links to `REASON.md` below it. */
export const RUNBOOK_BASE = 'https://slipway.dev/runbooks/';
