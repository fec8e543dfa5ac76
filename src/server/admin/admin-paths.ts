import { ADMIN_OPERATIONS } from '../../contract/operations/operations-admin.ts';

const INDEX_PATH = ADMIN_OPERATIONS.getAdminIndex.path;
const CONTROL_PATH = ADMIN_OPERATIONS.postControl.path;
const CONTROL_PREFIX = CONTROL_PATH.replace('{action}', '');
const PATHS: ReadonlySet<string> = new Set(
  Object.values(ADMIN_OPERATIONS).flatMap(({ auth, path }) => (auth === 'admin' ? [path] : [])),
);

/** Whether a path belongs to the admin surface, even if no operation has it. */
export function isAdminPath(path: string): boolean {
  return `${path}/` === INDEX_PATH || path.startsWith(INDEX_PATH);
}

/** The action that a path of a control call names, as sent: it is not decoded or checked. `null` for other paths. */
export function actionOf(path: string): string | null {
  const action = path.startsWith(CONTROL_PREFIX) ? path.slice(CONTROL_PREFIX.length) : '';
  return action === '' || action.includes('/') ? null : action;
}

/**
 * The template of the admin operation that a path names. This is the allowlist of the admin surface. It compares the path as
 * sent, because no name needs percent-encoding.
 *
 * @returns `null` when no operation has the path
 */
export function adminTemplateOf(path: string): string | null {
  if (`${path}/` === INDEX_PATH) return INDEX_PATH;
  if (actionOf(path) !== null) return CONTROL_PATH;
  return PATHS.has(path) ? path : null;
}
