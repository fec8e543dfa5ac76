/** The request that runs a task again; pure. */

import type { ConsoleContract } from '../../contract/console/console-contract.ts';
import type { Task } from '../api/wire.ts';
import { renderExact } from '../text/exact-json.ts';
import { isActive } from '../state/tasks.ts';
import type { ActionRequest } from '../state/app.ts';

/**
 * The action of a task that failed or was cancelled, with its arguments.
 *
 * @returns `null` for a task that works or has succeeded, and for work that no action starts
 */
export function retryRequest(
  { kind, status, args, ...task }: Pick<Task, 'kind' | 'status' | 'args' | 'failure_code'>,
  actions: ConsoleContract['actions'],
): ActionRequest | null {
  const action = actions[kind];
  if (action === undefined || isActive({ status }) || (status === 'succeeded' && task.failure_code === null))
    return null;
  const fields = action.schema.properties;
  const initial: Record<string, string | boolean> = {};
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(args)) {
    if (value === null || value === false) continue;
    if (name in fields && name !== 'args') initial[name] = value === true ? true : textOf(value);
    else if (typeof value !== 'object') pairs.push(`${name}=${textOf(value)}`);
  }
  if (pairs.length > 0 && 'args' in fields) initial['args'] = pairs.join('\n');
  return { action: kind, initial };
}

/** As a person types it: a list has one item a line, a group is JSON. */
function textOf(value: unknown): string {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join('\n');
  return typeof value === 'string' ? value : renderExact(value);
}
