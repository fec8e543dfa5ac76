import { setImmediate as nextTurn } from 'node:timers/promises';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { createLoop, type Loop } from '../../platform/process/loop.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { ScheduleRepository } from './schedule-repository.ts';
import type { ScheduleRuns } from './schedule-runs.ts';

export interface ScheduleTimerOptions {
  readonly repository: Pick<ScheduleRepository, 'due' | 'nextDue'>;
  readonly runs: Pick<ScheduleRuns, 'fire' | 'correctPlans'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Runs schedules when they are due; call `wake` after every change of a schedule. */
export type ScheduleTimer = Loop;

/** Maximum sleep, because the wall clock may be changed meanwhile. */
const MAX_SLEEP_MS = 30_000;
/** Wait before a retry when the database refused a run. */
const RETRY_MS = 5000;
/** Schedules run between two turns of the event loop; each run is a write to the disk. */
const RUNS_PER_TURN = 20;

/** Creates a timer. It runs nothing before `start`, and sleeps until the next schedule is due. */
export function createScheduleTimer({
  repository,
  runs,
  clock,
  logger,
}: ScheduleTimerOptions): ScheduleTimer {
  /** @returns whether every due schedule ran */
  const fireDue = async (signal: AbortSignal): Promise<boolean> => {
    runs.correctPlans();
    let complete = true;
    for (const [index, id] of repository.due(unixSeconds(clock)).entries()) {
      if (signal.aborted) return complete;
      try {
        runs.fire(id);
      } catch (error) {
        complete = false;
        logger.error({ err: error, schedule_id: id }, 'a schedule could not be run; retrying soon');
      }
      if (index % RUNS_PER_TURN === RUNS_PER_TURN - 1) await nextTurn();
    }
    return complete;
  };

  const untilNext = (): number => {
    const next = repository.nextDue();
    return next === null ? MAX_SLEEP_MS : Math.min(Math.max(next * 1000 - clock.now(), 1), MAX_SLEEP_MS);
  };

  const loop = createLoop({
    clock,
    turn: async (signal) => ((await fireDue(signal)) ? untilNext() : RETRY_MS),
    onFailure: (error) => {
      logger.error({ err: error }, 'schedules could not be read; retrying soon');
      return RETRY_MS;
    },
  });
  return loop;
}
