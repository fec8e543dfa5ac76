import type { z } from 'zod';
import { ControlBodySchema } from '../../contract/actions/control-body.ts';
import { parseKeyValuePairs } from '../../contract/actions/key-value-arguments.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { ScheduleGroup } from '../../contract/schemas/vocabulary.ts';
import type { JobCall, JobDefinition, JobRegistry } from '../tasks/job.ts';
import type { Schedule } from './schedule.ts';

/** The fields that every schedule may add to the arguments of its job. */
const AUDIT = ControlBodySchema.pick({ reviewer: true, reason: true }).strip();

/** The job that a run of a schedule queues, and the fields recorded on its task. */
interface ScheduledCall extends JobCall {
  readonly audit: z.output<typeof AUDIT>;
}

/**
 * Parses the call of a schedule: the job that its action names, with the `key=value` pairs as the job's arguments.
 *
 * @throws ServiceError `action_not_schedulable`, `invalid_request` (pointers into the schedule's body)
 */
export function scheduledCall({ group, action, args }: Schedule, jobs: JobRegistry): ScheduledCall {
  const job = jobs.find(action);
  if (job === null || !job.groups.includes(group)) throw notSchedulable(group, action, jobs);
  const parsed = parseKeyValuePairs(job.arguments.safeExtend(AUDIT.shape), args);
  if (parsed.ok) {
    refusePersonalSwitches(job, parsed.value, args);
    const { reviewer: _reviewer, reason: _reason, ...fields } = parsed.value;
    return { kind: job.kind, args: fields, audit: AUDIT.parse(parsed.value) };
  }
  throw new ServiceError('invalid_request', `args do not fit ${action}; "errors" names each`, {
    errors: parsed.error.map(({ index, message }) => ({
      pointer: index === null ? '/args' : `/args/${index}`,
      message,
    })),
  });
}

/** @throws ServiceError `invalid_request` */
function refusePersonalSwitches(
  { kind, personalSwitches = [] }: JobDefinition,
  values: Readonly<Record<string, unknown>>,
  args: readonly string[],
): void {
  const used = personalSwitches.find((name) => (values[name] ?? false) !== false);
  if (used === undefined) return;
  const message = `${used} is for a person who decides, so a schedule cannot set it; run ${kind} with it by hand`;
  throw new ServiceError('invalid_request', message, {
    errors: [{ pointer: `/args/${args.findIndex((pair) => pair.startsWith(`${used}=`))}`, message }],
  });
}

function notSchedulable(group: ScheduleGroup, action: string, jobs: JobRegistry): ServiceError {
  const kinds = jobs.kindsOf(group);
  return new ServiceError(
    'action_not_schedulable',
    `a schedule of group ${group} cannot run "${action.slice(0, 64)}"; it can run: ${kinds.length === 0 ? 'nothing' : kinds.join(', ')}`,
  );
}
