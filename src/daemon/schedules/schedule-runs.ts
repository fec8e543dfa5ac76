import { ServiceError } from '../../contract/problems/service-error.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { Failpoints } from '../../platform/files/failpoints.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import { afterOverlap, afterRequestedRuns, afterRun, isDue, type RunRecord } from './next-run.ts';
import { planScheduled, type TaskPlan } from './schedulable-actions.ts';
import type { ScheduleRepository } from './schedule-repository.ts';
import type { Schedule } from './schedule.ts';

/** What runs of schedules are made with. */
export interface ScheduleRunDependencies {
  readonly database: Pick<Database, 'transaction'>;
  readonly repository: ScheduleRepository;
  readonly engine: Pick<TaskEngine, 'submit' | 'get' | 'isScheduleActive'>;
  /** By the name of the action, those that this daemon can run. */
  readonly plans: ReadonlyMap<string, TaskPlan>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly failpoints: Failpoints;
}

/** Between the task of a run and the schedule's next slot; both are in one transaction. */
export const TASK_QUEUED_FAILPOINT = 'schedule.task.queued';

/** Queues the tasks of schedules. */
export interface ScheduleRuns {
  /**
   * Runs the slot of a schedule that is due, exactly once however often and by whomever this is called: one
   * transaction queues the task and moves the schedule on. A run whose predecessor is still active is left out; one
   * that cannot be queued counts as failed.
   */
  fire(id: string): void;
  /**
   * Queues runs that somebody asked for, back to back; the next slot stays as it is.
   *
   * @returns the ids of their tasks
   * @throws ServiceError `action_not_schedulable`, `not_implemented`, `invalid_request`; then nothing was queued
   */
  request(schedule: Schedule, count: number): readonly string[];
}

/** Creates what queues the tasks of schedules. */
export function createScheduleRuns(deps: ScheduleRunDependencies): ScheduleRuns {
  const { database, repository, engine, clock, logger } = deps;

  const queue = (schedule: Schedule, dedupe: boolean): RunRecord & { readonly taskId: string } => {
    const { kind, args, body } = planScheduled(schedule, deps.plans);
    const { task } = engine.submit({
      kind,
      args,
      dedupe,
      scheduleId: schedule.id,
      ...(body.reviewer === undefined ? {} : { reviewer: body.reviewer }),
      ...(body.reason === undefined ? {} : { reason: body.reason }),
    });
    return { taskId: task.task_id, status: task.status };
  };

  /** An equal task that others started is joined, so that a slot never waits behind work that does the same. */
  const queueOrFail = (schedule: Schedule): RunRecord => {
    try {
      return queue(schedule, true);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      logger.error({ schedule_id: schedule.id, code: error.code }, `a schedule cannot run: ${error.message}`);
      return { taskId: null, status: 'failed' };
    }
  };

  const isActive = ({ id, last_task_id: last }: Schedule): boolean =>
    engine.isScheduleActive(id) || (last !== null && engine.get(last)?.finished_at === null);

  return {
    fire: (id) => {
      database.transaction(() => {
        const schedule = repository.get(id);
        const now = unixSeconds(clock);
        if (schedule === null || !isDue(schedule, now)) return;
        if (isActive(schedule)) {
          logger.warn({ schedule_id: id }, 'a run was left out: the one before is still active');
          repository.update(afterOverlap(schedule, now));
          return;
        }
        const run = queueOrFail(schedule);
        deps.failpoints.hit(TASK_QUEUED_FAILPOINT);
        repository.update(afterRun(schedule, run, now));
        logger.info({ schedule_id: id, task_id: run.taskId }, 'a schedule ran');
      });
    },
    request: (schedule, count) =>
      database.transaction(() => {
        const runs = Array.from({ length: count }, () => queue(schedule, false));
        repository.update(afterRequestedRuns(schedule, runs, unixSeconds(clock)));
        return runs.map(({ taskId }) => taskId);
      }),
  };
}
