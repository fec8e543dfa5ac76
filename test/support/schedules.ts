import { onTestFinished } from 'vitest';
import type { Task } from '../../src/engine/tasks/task.ts';
import { createSchedules, type Schedules } from '../../src/engine/schedules/schedules.ts';
import type { ReportedSchedule } from '../../src/engine/schedules/schedule.ts';
import { SYNC_JOB, VERIFY_JOB } from '../../src/releases/jobs/release-jobs.ts';
import type { JobDefinition } from '../../src/engine/tasks/job.ts';
import { noFailpoints, type Failpoints } from '../../src/platform/files/failpoints.ts';
import { createSilentLogger } from '../../src/platform/logging/logging.ts';
import { act } from './actions.ts';
import { askReport } from './reports.ts';
import {
  createTestEngine,
  scriptedHandler,
  settle,
  type ScriptedHandler,
  type TestEngine,
  type TestEngineOptions,
} from './task-engine.ts';

/** Schedules over an engine whose sync is scripted by the test. */
export interface TestSchedules extends TestEngine {
  readonly schedules: Schedules;
  readonly sync: ScriptedHandler;
  readonly verify: ScriptedHandler;
  /** Runs an action; its error is thrown. */
  act(action: string, body?: Readonly<Record<string, unknown>>): Promise<Task>;
  list(query?: Readonly<Record<string, unknown>>): Promise<readonly ReportedSchedule[]>;
  /** The schedule, which must exist. */
  row(id: string): Promise<ReportedSchedule>;
}

/** Creates schedules that stop when the test ends. They and the engine run unless `started` is false. */
export function createTestSchedules(
  options: TestEngineOptions & { readonly failpoints?: Failpoints; readonly started?: boolean } = {},
): TestSchedules {
  const world = createTestEngine(options);
  const { engine, database, clock } = world;
  const sync = scriptedHandler('sync', { ...only(SYNC_JOB), resumable: true });
  const verify = scriptedHandler('verify', { ...only(VERIFY_JOB), lane: 'verify' });
  engine.jobs.register(sync);
  engine.jobs.register(verify);
  let ids = 0;
  const schedules = createSchedules({
    database,
    engine,
    clock,
    random: options.random ?? (() => 0),
    logger: createSilentLogger(),
    failpoints: options.failpoints ?? noFailpoints,
    createId: () => `generated-${(ids += 1)}`,
  });
  onTestFinished(async () => await schedules.stop());
  if (options.started !== false) {
    engine.start();
    schedules.start();
  }
  const list: TestSchedules['list'] = async (query = {}) => {
    const report = await askReport(schedules.reports, 'schedule.list', query);
    return report.items as readonly ReportedSchedule[];
  };
  return {
    ...world,
    schedules,
    sync,
    verify,
    list,
    act: async (action, body = {}) => {
      const { task } = await act(schedules.actions, action, body);
      await settle();
      return task;
    },
    row: async (id) => {
      const [found] = await list({ id });
      if (found === undefined) throw new Error(`no schedule ${id}`);
      return found;
    },
  };
}

function only({ groups, arguments: schema }: JobDefinition): Pick<JobDefinition, 'groups' | 'arguments'> {
  return { groups, arguments: schema };
}
