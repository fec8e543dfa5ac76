/** Codes of `publish_blockers` whose units a publication leaves out; every other code prevents it. */
export const LEFT_OUT_BLOCKERS: ReadonlySet<string> = new Set([
  'on_hold',
  'stale',
  'untranslated',
  'below_min_state',
]);
