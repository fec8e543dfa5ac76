import type { ControlBody } from '../../contract/actions/control-body.ts';
import { SCHEDULE_GROUPS } from '../../contract/schemas/vocabulary.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { ActionHandler } from '../api/ports.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import type { TaskResult } from '../tasks/task.ts';
import { runsLeft } from './next-run.ts';
import { planScheduled, type TaskPlan } from './schedulable-actions.ts';
import { changedSchedule, newSchedule } from './schedule-changes.ts';
import type { ScheduleRepository } from './schedule-repository.ts';
import type { ScheduleRuns } from './schedule-runs.ts';
import { MAX_SCHEDULES, type Schedule } from './schedule.ts';

/** What the actions of schedules are made of. */
export interface ScheduleActionDependencies {
  readonly database: Pick<Database, 'transaction'>;
  readonly repository: ScheduleRepository;
  readonly runs: ScheduleRuns;
  readonly engine: Pick<TaskEngine, 'recordInline'>;
  /** By the name of the action, those that this daemon can run. */
  readonly plans: ReadonlyMap<string, TaskPlan>;
  readonly clock: Clock;
  readonly createId: () => string;
  /** Called after every change. */
  readonly onChanged: () => void;
}

/** Most schedules that one run of a group takes. */
const GROUP_RUNS_MAX = 100;

/** The actions `schedule-add`, `schedule-update`, `schedule-remove` and `schedule-run`; each is done in its request. */
export function createScheduleActions(deps: ScheduleActionDependencies): ReadonlyMap<string, ActionHandler> {
  const { repository, plans, clock } = deps;

  const inline =
    (kind: string, run: (body: ControlBody) => TaskResult): ActionHandler =>
    async (untyped, { idempotencyKey, correlationId }) => {
      // The route has parsed it with the schema of the contract.
      const { reviewer, reason, ...args } = untyped as ControlBody;
      let ran = false;
      const task = await deps.engine.recordInline(
        {
          kind,
          args,
          correlationId,
          ...(idempotencyKey === null ? {} : { idempotencyKey }),
          ...(reviewer === undefined ? {} : { reviewer }),
          ...(reason === undefined ? {} : { reason }),
        },
        () => {
          ran = true;
          const result = deps.database.transaction(() => run(args));
          deps.onChanged();
          return result;
        },
      );
      return { task, deduplicated: !ran };
    };

  const add = (body: ControlBody): TaskResult => {
    const schedule = newSchedule(body, deps.createId(), unixSeconds(clock));
    planScheduled(schedule, plans);
    if (repository.get(schedule.id) !== null) {
      throw new ServiceError(
        'schedule_exists',
        `the schedule "${schedule.id}" exists: update it, or choose another id`,
      );
    }
    if (repository.count() >= MAX_SCHEDULES) {
      throw new ServiceError('invalid_request', `there are ${MAX_SCHEDULES} schedules already: remove some`);
    }
    repository.insert(schedule);
    return { schedule };
  };

  const update = (body: ControlBody): TaskResult => {
    const before = known(repository, body.id ?? '');
    const schedule = changedSchedule(before, body, unixSeconds(clock));
    // One that this daemon cannot run can still be disabled or given another time.
    if (!isSameTarget(before, schedule)) planScheduled(schedule, plans);
    repository.update(schedule);
    return { schedule };
  };

  const remove = (body: ControlBody): TaskResult => {
    const schedule = known(repository, body.id ?? '');
    repository.remove(schedule.id);
    return { id: schedule.id };
  };

  const run = (body: ControlBody): TaskResult => {
    const forced = body.force === true;
    const count = Number(body.count ?? 0);
    const chosen =
      body.id === undefined
        ? ofGroup(repository, body.group ?? '', forced, count)
        : [enabledOrForced(known(repository, body.id), forced)];
    const started = chosen.map((schedule) => {
      const asked = body.id === undefined ? 1 : Math.max(1, count);
      const most = forced ? asked : Math.min(asked, runsLeft(schedule) ?? asked);
      return { id: schedule.id, task_ids: deps.runs.request(schedule, most) };
    });
    return { schedules: started, task_ids: started.flatMap(({ task_ids }) => task_ids) };
  };

  return new Map([
    ['schedule-add', inline('schedule-add', add)],
    ['schedule-update', inline('schedule-update', update)],
    ['schedule-remove', inline('schedule-remove', remove)],
    ['schedule-run', inline('schedule-run', run)],
  ]);
}

function known(repository: ScheduleRepository, id: string): Schedule {
  const schedule = repository.get(id);
  if (schedule !== null) return schedule;
  throw new ServiceError(
    'unknown_schedule',
    `no schedule has the id "${id.slice(0, 128)}"; see the list of schedules`,
  );
}

function enabledOrForced(schedule: Schedule, forced: boolean): Schedule {
  if (schedule.enabled || forced) return schedule;
  throw new ServiceError(
    'schedule_disabled',
    `the schedule "${schedule.id}" is disabled: enable it, or send force`,
  );
}

/** @param most schedules; 0 for all */
function ofGroup(
  repository: ScheduleRepository,
  name: string,
  forced: boolean,
  most: number,
): readonly Schedule[] {
  const group = SCHEDULE_GROUPS.find((each) => each === name) ?? null;
  const all = group === null ? [] : repository.list({ id: null, group, enabled: null });
  if (all.length === 0)
    throw new ServiceError('unknown_schedule', `no schedule is in the group "${name.slice(0, 64)}"`);
  const usable = all.filter(({ enabled }) => enabled || forced);
  if (usable.length === 0) {
    throw new ServiceError(
      'schedule_disabled',
      `every schedule of the group "${name}" is disabled: enable one, or send force`,
    );
  }
  return usable.slice(0, most === 0 ? GROUP_RUNS_MAX : most);
}

function isSameTarget(before: Schedule, after: Schedule): boolean {
  return (
    before.group === after.group &&
    before.action === after.action &&
    before.args.length === after.args.length &&
    before.args.every((pair, index) => pair === after.args[index])
  );
}
