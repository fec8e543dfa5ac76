import { ServiceError } from '../../contract/problems/service-error.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { Failpoints } from '../../platform/files/failpoints.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import {
  afterOverlap,
  afterReplacedSlot,
  afterRequestedRuns,
  afterRun,
  isAheadOfClock,
  plannedAgain,
  isDue,
  type RunRecord,
} from './next-run.ts';
import type { ScheduleRepository } from './schedule-repository.ts';
import type { Schedule } from './schedule.ts';
import { scheduledCall } from './scheduled-call.ts';

/** Between the insert of a run's task and the update of the schedule's next slot; one transaction contains both. */
export const TASK_QUEUED_FAILPOINT = 'schedule.task.queued';

/** Queues the tasks of schedules. */
export interface ScheduleRuns {
  /**
   * Runs the due slot of a schedule, exactly once even if called repeatedly: one transaction queues the task and
   * advances the schedule. A run is skipped while the previous one is still active, and while the schedule of a
   * ReleaseChannel replaces this one; a run that cannot be queued counts
   * as failed.
   */
  fire(id: string): void;
  /** Plans the schedules again that a wall clock ahead of time has planned, when that clock is right again. */
  correctPlans(): void;
  /**
   * Queues requested runs, back to back; the next slot keeps its time.
   *
   * @returns the ids of their tasks
   * @throws ServiceError `action_not_schedulable`, `invalid_request`; then nothing was queued
   */
  request(schedule: Schedule, count: number): readonly string[];
}

/** Creates the functions that queue the tasks of schedules. */
export function createScheduleRuns(options: {
  readonly database: Database;
  readonly repository: ScheduleRepository;
  readonly engine: TaskEngine;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly failpoints: Failpoints;
}): ScheduleRuns {
  const { database, repository, engine, clock, logger } = options;

  const queue = (schedule: Schedule, dedupe: boolean): RunRecord & { readonly taskId: string } => {
    const { kind, args, audit } = scheduledCall(schedule, engine.jobs);
    const { task } = engine.submit({
      kind,
      args,
      dedupe,
      scheduleId: schedule.id,
      ...(audit.reviewer === undefined ? {} : { reviewer: audit.reviewer }),
      ...(audit.reason === undefined ? {} : { reason: audit.reason }),
    });
    return { taskId: task.task_id, status: task.status };
  };

  /**
   * Joins an equal task that is queued or running, so that a slot never waits behind a task that does the same work.
   */
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
        if (repository.replacementOf(schedule) !== null) {
          repository.update(afterReplacedSlot(schedule, now));
          return;
        }
        if (isActive(schedule)) {
          logger.warn({ schedule_id: id }, 'a run was skipped: the previous one is still active');
          repository.update(afterOverlap(schedule, now));
          return;
        }
        const run = queueOrFail(schedule);
        options.failpoints.hit(TASK_QUEUED_FAILPOINT);
        repository.update(afterRun(schedule, run, now));
        logger.info({ schedule_id: id, task_id: run.taskId }, 'a schedule ran');
      });
    },
    correctPlans: () => {
      const now = unixSeconds(clock);
      const isAhead = (schedule: Schedule): boolean => isAheadOfClock(schedule, now);
      const every = { id: null, group: null, enabled: true };
      if (!repository.list(every).some(isAhead)) return;
      const ids = database.transaction(() =>
        repository
          .list(every)
          .filter(isAhead)
          .map((schedule) => {
            repository.update(plannedAgain(schedule, now));
            return schedule.id;
          }),
      );
      logger.warn(
        { schedules: ids },
        'schedules were planned by a wall clock that was ahead, and are planned again',
      );
    },
    request: (schedule, count) =>
      database.transaction(() => {
        const runs = Array.from({ length: count }, () => queue(schedule, false));
        repository.update(afterRequestedRuns(schedule, runs, unixSeconds(clock)));
        return runs.map(({ taskId }) => taskId);
      }),
  };
}
