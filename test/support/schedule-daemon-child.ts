/**
 * One run of one schedule, killed with SIGKILL between the task and the schedule's next slot:
 *
 *   node test/support/schedule-daemon-child.ts DATABASE SCHEDULE_ID
 */
import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { openDatabase } from '../../src/engine/database/database.ts';
import { SYNC_JOB } from '../../src/releases/jobs/release-jobs.ts';
import { createScheduleRepository } from '../../src/engine/schedules/schedule-repository.ts';
import { createScheduleRuns, TASK_QUEUED_FAILPOINT } from '../../src/engine/schedules/schedule-runs.ts';
import { implementJob } from '../../src/engine/tasks/job.ts';
import { createTaskEngine } from '../../src/engine/tasks/create-task-engine.ts';
import { systemClock as clock } from '../../src/platform/process/clock.ts';
import { createUlidFactory } from '../../src/platform/process/ids.ts';
import { createSilentLogger } from '../../src/platform/logging/logging.ts';

const [path = '', scheduleId = ''] = process.argv.slice(2);
const database = openDatabase(path);
const logger = createSilentLogger();
const engine = createTaskEngine({
  database,
  clock,
  random: () => 0,
  createId: createUlidFactory({ clock, randomBytes }),
  logger,
  bootId: `boot-${process.pid}`,
});
engine.jobs.register(implementJob(SYNC_JOB, () => Promise.resolve({})));
createScheduleRuns({
  database,
  repository: createScheduleRepository(database),
  engine,
  clock,
  logger,
  failpoints: {
    hit: (name) => {
      if (name === TASK_QUEUED_FAILPOINT) process.kill(process.pid, 'SIGKILL');
    },
  },
}).fire(scheduleId);
throw new Error('the failpoint was not reached');
