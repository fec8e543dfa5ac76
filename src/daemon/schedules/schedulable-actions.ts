import { isControlAction } from '../../contract/actions/actions.ts';
import type { ControlBody } from '../../contract/actions/control-body.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { TaskArguments } from '../tasks/task.ts';
import type { Schedule, ScheduleGroup } from './schedule.ts';
import { parseScheduledBody } from './scheduled-body.ts';

/** The arguments of the task that an action queues; pure, so that it can run inside a transaction. */
export type TaskPlan = (body: ControlBody) => TaskArguments;

/** What schedules of a group can run. */
export const SCHEDULABLE_ACTIONS: Readonly<Record<ScheduleGroup, readonly string[]>> = {
  res: ['sync', 'verify', 'repair', 'catalog-refresh', 'refresh', 'release-cleanup'],
  parse: ['parse', 'parse-full'],
  i18n: ['task-build', 'worker-run', 'proofread', 'handoff-export', 'memory-maintain', 'publish'],
};

/**
 * What a run of a schedule queues.
 *
 * @param plans by the name of the action, those that this daemon can run
 * @throws ServiceError `action_not_schedulable`, `not_implemented`, `invalid_request`
 */
export function planScheduled(
  { group, action, args }: Pick<Schedule, 'group' | 'action' | 'args'>,
  plans: ReadonlyMap<string, TaskPlan>,
): { readonly kind: string; readonly args: TaskArguments; readonly body: ControlBody } {
  const allowed = SCHEDULABLE_ACTIONS[group];
  if (!allowed.includes(action)) {
    throw new ServiceError(
      'action_not_schedulable',
      `a schedule of group ${group} runs ${allowed.join(', ')}; not "${action.slice(0, 64)}"`,
    );
  }
  const plan = plans.get(action);
  if (plan === undefined || !isControlAction(action)) {
    throw new ServiceError(
      'not_implemented',
      `this daemon does not implement ${action}, so it cannot be scheduled`,
    );
  }
  const body = parseScheduledBody(action, args);
  if (!body.ok) {
    throw new ServiceError('invalid_request', `args do not fit ${action}; "errors" names each`, {
      errors: body.error,
    });
  }
  return { kind: action, args: plan(body.value), body: body.value };
}
