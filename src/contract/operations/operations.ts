import type { OperationDefinition } from './operation-definition.ts';
import { ADMIN_OPERATIONS } from './operations-admin.ts';
import { PUBLIC_OPERATIONS } from './operations-public.ts';

/** Version of the service interface, declared in the OpenAPI document. */
export const INTERFACE_VERSION = '0.1.0';

/**
 * The whole service interface, one row an operation. Routing, validation, the proxy allowlist, the OpenAPI document,
 * the console's links and the reference come from it.
 */
export const OPERATIONS = { ...PUBLIC_OPERATIONS, ...ADMIN_OPERATIONS } as const;

export type OperationId = keyof typeof OPERATIONS;

/** Every operation with its id, in the order of the table, with types widened to {@link OperationDefinition}. */
export function listOperations(): ReadonlyArray<OperationDefinition & { readonly id: OperationId }> {
  return (Object.keys(OPERATIONS) as OperationId[]).map((id) => {
    const operation: OperationDefinition = OPERATIONS[id];
    return { ...operation, id };
  });
}
