import type { Caller } from '../../src/contract/actions/control-scopes.ts';
import type { AcceptedAction, DefinedAction } from '../../src/engine/define-action.ts';

/** Calls an action as the control route does; its error is thrown. */
export async function act(
  actions: readonly DefinedAction[],
  name: string,
  body: Readonly<Record<string, unknown>> = {},
  caller: Caller = { tokenId: null, allow: null },
): Promise<AcceptedAction> {
  const action = actions.find((each) => each.name === name);
  if (action === undefined) throw new Error(`no action ${name}`);
  return await action.accept(body, { idempotencyKey: null, correlationId: 'test', caller });
}
