import type { BodyOf } from '../../contract/actions/body-of.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { unknownName } from '../../contract/problems/value-errors.ts';
import type { ScheduleGroup } from '../../contract/schemas/vocabulary.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { Caller, ControlScope } from '../../contract/actions/control-scopes.ts';
import { scopesOfKind } from '../caller.ts';
import { defineAction, type DefinedAction } from '../define-action.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { JobRegistry } from '../tasks/job.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import type { TaskResult } from '../tasks/task.ts';
import { runsLeft } from './next-run.ts';
import { changedSchedule, newSchedule } from './schedule-changes.ts';
import { reportedSchedule, type ScheduleRepository } from './schedule-repository.ts';
import type { ScheduleRuns } from './schedule-runs.ts';
import { settingOf } from './configured-schedules.ts';
import { MAX_SCHEDULES, type Schedule } from './schedule.ts';
import { scheduledCall } from './scheduled-call.ts';

interface ScheduleActionOptions {
  readonly database: Database;
  readonly repository: ScheduleRepository;
  readonly runs: ScheduleRuns;
  readonly engine: TaskEngine;
  readonly clock: Clock;
  readonly createId: () => string;
  /** Called after every change. */
  readonly onChanged: () => void;
}

/** The schedules that a call is about: one by its id, or all of a group. */
interface NamedSchedules {
  readonly id?: string | undefined;
  readonly group?: ScheduleGroup | undefined;
  readonly action?: string | undefined;
  readonly args?: readonly string[] | undefined;
}

/** The fields of an update that a configured schedule accepts. */
const FREE_FIELDS: ReadonlySet<string> = new Set(['id', 'enabled', 'reviewer', 'reason']);
const TOKEN_ARGUMENT = 'token_id=';
/** Maximum number of schedules in one run of a group. */
const GROUP_RUNS_MAX = 100;

/**
 * The actions `schedule-add`, `schedule-update`, `schedule-remove` and `schedule-run`; each runs inside its request.
 */
export function createScheduleActions(options: ScheduleActionOptions): readonly DefinedAction[] {
  const { engine } = options;
  const changing =
    <Body>(change: (options: ScheduleActionOptions, body: Body, caller: Caller) => TaskResult) =>
    (body: Body, caller: Caller): TaskResult => {
      const result = options.database.transaction(() => change(options, body, caller));
      options.onChanged();
      return result;
    };
  // A change of a schedule needs what its job needs, before the change and after it.
  const needs = ({ id, group, action, args }: NamedSchedules): readonly ControlScope[] => {
    const filter = id === undefined ? { id: null, group: group ?? null } : { id, group: null };
    const named = options.repository.list({ ...filter, enabled: null });
    const after = named.map((each) => ({ action: action ?? each.action, args: args ?? each.args }));
    return [...named, ...after].flatMap((each) => scopesOfKind(each.action, engine.jobs, each.args));
  };
  return [
    defineAction(engine, 'schedule-add', {
      needs: ({ action, args }) => scopesOfKind(action, engine.jobs, args),
      run: changing(addSchedule),
    }),
    defineAction(engine, 'schedule-update', { needs, run: changing(updateSchedule) }),
    defineAction(engine, 'schedule-remove', { needs, run: changing(removeSchedule) }),
    defineAction(engine, 'schedule-run', { needs, run: changing(runSchedules) }),
  ];
}

function addSchedule(
  options: ScheduleActionOptions,
  body: BodyOf<'schedule-add'>,
  caller: Caller,
): TaskResult {
  const { repository, engine } = options;
  const asked = newSchedule(body, options.createId(), unixSeconds(options.clock));
  const schedule = withTokenOf(caller, asked, engine.jobs);
  scheduledCall(schedule, engine.jobs);
  if (repository.get(schedule.id) !== null) {
    throw new ServiceError(
      'schedule_exists',
      `the schedule "${schedule.id}" already exists: update it, or choose another id`,
    );
  }
  if (repository.count() >= MAX_SCHEDULES) {
    throw new ServiceError('invalid_request', `there are already ${MAX_SCHEDULES} schedules: remove some`);
  }
  repository.insert(schedule);
  return { schedule: reportedSchedule(schedule, repository) };
}

function updateSchedule(
  options: ScheduleActionOptions,
  body: BodyOf<'schedule-update'>,
  caller: Caller,
): TaskResult {
  const { repository, engine, clock } = options;
  const before = known(repository, body.id);
  if (Object.keys(body).some((field) => !FREE_FIELDS.has(field))) refuseConfigured(before);
  const changed = changedSchedule(before, body, unixSeconds(clock));
  const schedule = isSameTarget(before, changed) ? changed : withTokenOf(caller, changed, engine.jobs);
  // A schedule that this daemon cannot run may still be disabled or get another time.
  if (!isSameTarget(before, schedule)) scheduledCall(schedule, engine.jobs);
  repository.update(schedule);
  return { schedule: reportedSchedule(schedule, repository) };
}

function removeSchedule({ repository }: ScheduleActionOptions, body: BodyOf<'schedule-remove'>): TaskResult {
  const schedule = known(repository, body.id);
  refuseConfigured(schedule);
  repository.remove(schedule.id);
  return { id: schedule.id };
}

function runSchedules({ repository, runs }: ScheduleActionOptions, body: BodyOf<'schedule-run'>): TaskResult {
  const { force = false, count } = body;
  const chosen =
    body.id === undefined
      ? ofGroup(repository, body.group, force, count ?? GROUP_RUNS_MAX)
      : [enabledOrForced(known(repository, body.id), force)];
  const started = chosen.map((schedule) => {
    const asked = body.id === undefined ? 1 : (count ?? 1);
    const most = force ? asked : Math.min(asked, runsLeft(schedule) ?? asked);
    return { id: schedule.id, task_ids: runs.request(schedule, most) };
  });
  return { schedules: started, task_ids: started.flatMap(({ task_ids }) => task_ids) };
}

/**
 * Writes the token of the caller into the arguments of a job that records it. The caller who chose the arguments answers for them, and
 * nobody can name the token of another person.
 */
function withTokenOf({ tokenId }: Caller, schedule: Schedule, jobs: JobRegistry): Schedule {
  if (!('token_id' in (jobs.find(schedule.action)?.arguments.shape ?? {}))) return schedule;
  const others = schedule.args.filter((pair) => !pair.startsWith(TOKEN_ARGUMENT));
  return { ...schedule, args: tokenId === null ? others : [...others, TOKEN_ARGUMENT + tokenId] };
}

/** Refuses a change of what the configuration decides; the next start or reload would undo it. */
function refuseConfigured({ id, origin }: Schedule): void {
  if (origin !== 'configured') return;
  throw new ServiceError(
    'schedule_configured',
    `the schedule "${id}" comes from the configuration: change ${settingOf(id)} and reload, or disable it with enabled=false`,
  );
}

function known(repository: ScheduleRepository, id: string): Schedule {
  const schedule = repository.get(id);
  if (schedule !== null) return schedule;
  throw new ServiceError(
    'unknown_schedule',
    unknownName('schedule', id, '`slipway ctl schedules` lists them'),
  );
}

function enabledOrForced(schedule: Schedule, forced: boolean): Schedule {
  if (schedule.enabled || forced) return schedule;
  throw new ServiceError(
    'schedule_disabled',
    `the schedule "${schedule.id}" is disabled: enable it, or send force`,
  );
}

function ofGroup(
  repository: ScheduleRepository,
  group: ScheduleGroup,
  forced: boolean,
  most: number,
): readonly Schedule[] {
  const all = repository.list({ id: null, group, enabled: null });
  if (all.length === 0) {
    throw new ServiceError('unknown_schedule', `no schedule is in the group "${group}"`);
  }
  const usable = all.filter(({ enabled }) => enabled || forced);
  if (usable.length === 0) {
    throw new ServiceError(
      'schedule_disabled',
      `every schedule of the group "${group}" is disabled: enable one, or send force`,
    );
  }
  return usable.slice(0, most);
}

function isSameTarget(before: Schedule, after: Schedule): boolean {
  return (
    before.group === after.group &&
    before.action === after.action &&
    before.args.length === after.args.length &&
    before.args.every((pair, index) => pair === after.args[index])
  );
}
