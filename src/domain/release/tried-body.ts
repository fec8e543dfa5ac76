/** The release that a dry run of `localized-rollback` would take back, in its result. */
const TAKEN_BACK = 'rolled_back_release_id';

/**
 * The body for the action whose dry run somebody has seen. A rollback names the release that the dry run took back, so that it is
 * refused when another one has become current since.
 */
export function triedBody<Body extends object>(
  action: string,
  body: Body,
  result: Readonly<Record<string, unknown>>,
): Body {
  const from = action === 'localized-rollback' ? result[TAKEN_BACK] : null;
  const given: unknown = 'args' in body ? body.args : null;
  const args: readonly unknown[] = Array.isArray(given) ? given : [];
  if (typeof from !== 'string' || args.some((pair) => String(pair).startsWith('from='))) return body;
  return { ...body, args: [...args, `from=${from}`] };
}
