import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { openDatabase } from '../../src/engine/database/database.ts';
import type { Database } from '../../src/engine/database/sqlite-database.ts';
import { createTaskEngine } from '../../src/engine/tasks/create-task-engine.ts';
import type { TaskEngine } from '../../src/engine/tasks/task-engine.ts';
import type { Job, JobCall } from '../../src/engine/tasks/job.ts';
import type { TaskContext, TaskResult, Task } from '../../src/engine/tasks/task.ts';
import { createUlidFactory } from '../../src/platform/process/ids.ts';
import { createSilentLogger } from '../../src/platform/logging/logging.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { until } from './until.ts';

/** An engine on its own database, with a clock that stands still. */
export interface TestEngine {
  readonly engine: TaskEngine;
  readonly database: Database;
  readonly clock: FakeClock;
}

/** Options of a test engine. */
export interface TestEngineOptions {
  readonly path?: string;
  readonly bootId?: string;
  readonly clock?: FakeClock;
  readonly random?: () => number;
}

/** Creates an engine that stops when the test ends. */
export function createTestEngine(options: TestEngineOptions = {}): TestEngine {
  const clock = options.clock ?? new FakeClock();
  const database = openDatabase(options.path ?? ':memory:');
  let counter = 0;
  const engine = createTaskEngine({
    database,
    clock,
    random: options.random ?? (() => 0),
    createId: createUlidFactory({
      clock,
      randomBytes: (count) => Uint8Array.from({ length: count }, () => (counter += 1) % 32),
    }),
    logger: createSilentLogger(),
    bootId: options.bootId ?? 'boot-1',
    backoff: { baseMs: 1000, capMs: 60_000 },
  });
  onTestFinished(async () => {
    await engine.stop(0);
    database.close();
  });
  return { engine, database, clock };
}

/** A handler whose runs wait until the test resumes them. */
export interface ScriptedHandler extends Job {
  /** The runs in progress, in order. */
  readonly runs: ScriptedRun[];
  /** Task ids in the order in which runs began. */
  readonly order: string[];
}

/** One run of a scripted handler. */
export interface ScriptedRun {
  readonly context: TaskContext;
  readonly succeed: (result?: TaskResult) => void;
  readonly fail: (error: unknown) => void;
}

/** Creates a handler that a test controls. It honours the signal unless `deaf`. */
export function scriptedHandler(
  kind: string,
  options: Partial<Omit<Job, 'kind' | 'run'>> & { readonly deaf?: boolean } = {},
): ScriptedHandler {
  const { deaf = false, ...rest } = options;
  const runs: ScriptedRun[] = [];
  const order: string[] = [];
  return {
    kind,
    summary: '',
    groups: [],
    arguments: z.looseObject({}),
    lane: 'release',
    scope: 'operate',
    resumable: false,
    maxAttempts: 1,
    storeLock: 'none',
    ...rest,
    runs,
    order,
    run: async (context) => {
      order.push(context.taskId);
      const { promise, resolve, reject } = Promise.withResolvers<TaskResult>();
      const run: ScriptedRun = {
        context,
        succeed: (result = {}) => resolve(result),
        fail: reject,
      };
      runs.push(run);
      if (!deaf)
        context.signal.addEventListener('abort', () => reject(context.signal.reason), { once: true });
      try {
        return await promise;
      } finally {
        runs.splice(runs.indexOf(run), 1);
      }
    },
  };
}

/** Lets everything that is ready run, without moving the clock. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}

/** The task, which must exist. */
export function taskOf(engine: TaskEngine, taskId: string): Task {
  const task = engine.get(taskId);
  if (task === null) throw new Error(`no task ${taskId}`);
  return task;
}

/** Runs a job to its end, as a schedule does. */
export async function runToEnd(
  engine: TaskEngine,
  call: JobCall,
  audit: { readonly reviewer?: string; readonly reason?: string } = {},
): Promise<Task> {
  engine.start();
  const { task } = engine.submit({ ...call, ...audit, dedupe: false });
  await until(() => taskOf(engine, task.task_id).finished_at !== null);
  return taskOf(engine, task.task_id);
}
