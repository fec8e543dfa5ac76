import type { OperationDefinition } from '../../contract/operations/operation-definition.ts';
import { listOperations, type OperationId } from '../../contract/operations/operations.ts';
import { ADMIN_OPERATIONS } from '../../contract/operations/operations-admin.ts';
import type { ReportName } from '../../contract/reports/reports.ts';

/** A read operation of the table with its id. */
export type ReadOperation = OperationDefinition & { readonly id: OperationId };

/** The operation that a path of the admin surface names. */
export type AdminRoute =
  | { readonly kind: 'index'; readonly template: string; readonly methods: string }
  | {
      readonly kind: 'report';
      readonly template: string;
      readonly methods: string;
      readonly report: ReportName;
      readonly operation: ReadOperation;
    }
  | {
      readonly kind: 'control';
      readonly template: string;
      readonly methods: string;
      /** As sent; not checked yet. */
      readonly action: string;
    };

/** The read that a path names. */
export type ReadRoute = Exclude<AdminRoute, { kind: 'control' }>;

const READ_METHODS = 'GET, HEAD';
const CONTROL_METHODS = 'POST';
const CONTROL_TEMPLATE = ADMIN_OPERATIONS.postControl.path;
const CONTROL_PREFIX = CONTROL_TEMPLATE.replace('{action}', '');

/** Every operation that asks for a token and only reads, in the order of the table. */
export const READ_OPERATIONS: readonly ReadOperation[] = listOperations().filter(
  ({ auth, method }) => auth === 'admin' && method === 'get',
);

/** Their routes, by path. */
const READ_ROUTES: ReadonlyMap<string, ReadRoute> = new Map(
  READ_OPERATIONS.map((operation) => [operation.path, readRoute(operation)]),
);

/** Whether a path belongs to the admin surface, even if no operation has it. */
export function isAdminPath(path: string): boolean {
  return path === '/admin' || path.startsWith('/admin/');
}

/**
 * Finds the route of a path. It compares the path as sent, because no name needs percent-encoding.
 *
 * @returns `null` when no operation has the path
 */
export function findAdminRoute(path: string): AdminRoute | null {
  const read = READ_ROUTES.get(path);
  if (read !== undefined) return read;
  const action = path.startsWith(CONTROL_PREFIX) ? path.slice(CONTROL_PREFIX.length) : '';
  if (action === '' || action.includes('/')) return null;
  return { kind: 'control', template: CONTROL_TEMPLATE, methods: CONTROL_METHODS, action };
}

function readRoute(operation: ReadOperation): ReadRoute {
  const { daemon, path: template } = operation;
  return daemon !== undefined && 'report' in daemon
    ? { kind: 'report', template, methods: READ_METHODS, report: daemon.report, operation }
    : { kind: 'index', template, methods: READ_METHODS };
}
