/** Which calls can be tried first, and the body that tries them; pure. */

type Body = Readonly<Record<string, unknown>>;

const DRY_RUN = 'dry_run=';

/** Whether the daemon takes a dry run of this call; a batch of checks and the import of a file have none. */
export function canTry(action: string, hasDryRun: boolean, body: Body): boolean {
  if (!hasDryRun || isTrial(body)) return false;
  if (action !== 'translation-proofread') return true;
  return body['task_id'] !== undefined || body['provider'] !== undefined;
}

/** The body that only says what would happen. */
export function trialOf(body: Body): Body {
  return { ...body, args: [...argsOf(body).filter((pair) => !pair.startsWith(DRY_RUN)), `${DRY_RUN}true`] };
}

/** Whether a body asks for a dry run itself. */
function isTrial(body: Body): boolean {
  return argsOf(body).includes(`${DRY_RUN}true`);
}

/** The `key=value` texts of a body. */
export function argsOf({ args }: Body): readonly string[] {
  return Array.isArray(args) ? args.filter((pair): pair is string => typeof pair === 'string') : [];
}
