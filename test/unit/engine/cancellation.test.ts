import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/engine/database/database.ts';
import { createTaskEngine } from '../../../src/engine/tasks/create-task-engine.ts';
import type { Job } from '../../../src/engine/tasks/job.ts';
import { TaskError } from '../../../src/engine/tasks/task.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { campaignSize } from '../../support/long.ts';
import { createTestEngine, scriptedHandler, settle, taskOf } from '../../support/task-engine.ts';

type Fixture = ReturnType<typeof createTestEngine> & {
  readonly sync: ReturnType<typeof scriptedHandler>;
  readonly id: string;
};

async function runningTask(options: Parameters<typeof scriptedHandler>[1] = {}): Promise<Fixture> {
  const test = createTestEngine();
  const sync = scriptedHandler('sync', options);
  test.engine.jobs.register(sync);
  test.engine.start();
  const { task } = test.engine.submit({ kind: 'sync', args: {}, dedupe: true });
  await settle();
  return { ...test, sync, id: task.task_id };
}

describe('cancelling', () => {
  it('ends a queued task immediately', async () => {
    const { engine, sync } = await runningTask();
    const ended: string[] = [];
    engine.onFinished((task) => ended.push(task.status));
    const waiting = engine.submit({ kind: 'sync', args: { n: 2 }, dedupe: true }).task.task_id;
    expect(engine.cancel(waiting, 'not needed')).toMatchObject({
      status: 'cancelled',
      attempt: 0,
      cancel_reason: 'not needed',
      cancel_requested_at: expect.any(Number),
      finished_at: expect.any(Number),
    });
    expect(ended).toEqual(['cancelled']);
    sync.runs[0]?.succeed();
    await settle();
    expect(sync.order).toHaveLength(1);
  });

  it('asks a running task to stop, and records that it did', async () => {
    const { engine, id } = await runningTask();
    expect(engine.cancel(id, 'enough').status).toBe('cancelling');
    await settle();
    expect(taskOf(engine, id)).toMatchObject({ status: 'cancelled', cancel_reason: 'enough', result: null });
  });

  it('reports success if the task finished before it noticed', async () => {
    const { engine, sync, id } = await runningTask({ deaf: true });
    engine.cancel(id, null);
    expect(engine.cancel(id, 'twice').cancel_reason).toBeNull();
    sync.runs[0]?.succeed({ done: true });
    await settle();
    expect(taskOf(engine, id)).toMatchObject({
      status: 'succeeded',
      result: { done: true },
      cancel_requested_at: expect.any(Number),
    });
  });

  it('reports the failure if the task failed for its own reason', async () => {
    const { engine, sync, id } = await runningTask({ deaf: true });
    engine.cancel(id, null);
    sync.runs[0]?.fail(new TaskError('digest_mismatch', 'wrong bytes'));
    await settle();
    expect(taskOf(engine, id)).toMatchObject({ status: 'failed', failure_code: 'digest_mismatch' });
  });

  it('is not undone by a retry', async () => {
    const { engine, sync, id } = await runningTask({ deaf: true, maxAttempts: 5 });
    engine.cancel(id, null);
    sync.runs[0]?.fail(new TaskError('upstream_timeout', 'slow', { retryable: true }));
    await settle();
    expect(taskOf(engine, id).status).toBe('cancelled');
  });

  it('ends a task that waits for its next attempt', async () => {
    const { engine, sync, id, clock } = await runningTask({ maxAttempts: 5 });
    sync.runs[0]?.fail(new TaskError('upstream_timeout', 'slow', { retryable: true }));
    await settle();
    expect(engine.cancel(id, null).status).toBe('cancelled');
    await clock.advance(600_000);
    expect(sync.order).toHaveLength(1);
  });

  it("recognizes its signal's reason even when it is wrapped", async () => {
    const { engine, sync, id } = await runningTask({ deaf: true });
    engine.cancel(id, null);
    const { signal } = sync.runs[0]!.context;
    sync.runs[0]?.fail(new TaskError('upstream_unreachable', 'aborted', { cause: signal.reason }));
    await settle();
    expect(taskOf(engine, id).status).toBe('cancelled');
  });

  it('waits for the end of a section that must not be interrupted', async () => {
    const test = createTestEngine();
    const swapped = Promise.withResolvers<void>();
    const seen: boolean[] = [];
    test.engine.jobs.register({
      ...scriptedHandler('sync'),
      run: async (context) => {
        const { signal } = context;
        await context.commit(async () => {
          await swapped.promise;
          seen.push(signal.aborted);
        });
        seen.push(signal.aborted);
        await context.commit(async () => Promise.resolve(seen.push(true)));
        return {};
      },
    });
    test.engine.start();
    const { task } = test.engine.submit({ kind: 'sync', args: {}, dedupe: true });
    await settle();
    test.engine.cancel(task.task_id, null);
    await settle();
    expect(taskOf(test.engine, task.task_id).status).toBe('cancelling');
    swapped.resolve();
    await settle();
    expect(seen).toEqual([false, true]);
    expect(taskOf(test.engine, task.task_id).status).toBe('cancelled');
  });

  it('is refused for tasks that have ended or never existed', async () => {
    const { engine, sync, id } = await runningTask();
    sync.runs[0]?.succeed();
    await settle();
    expect(() => engine.cancel(id, null)).toThrow(
      expect.objectContaining({
        code: 'task_already_terminal',
        message: `task ${id} has ended already (succeeded); there is nothing to cancel`,
      }),
    );
    expect(() => engine.cancel('nope', null)).toThrow(expect.objectContaining({ code: 'unknown_task' }));
  });
});

const KINDS: ReadonlyArray<readonly [string, Job['lane'], Job['storeLock']]> = [
  ['sync', 'release', 'shared'],
  ['release-cleanup', 'release', 'exclusive'],
  ['verify', 'verify', 'shared'],
  ['parse', 'parse', 'none'],
  ['publish', 'i18n', 'exclusive'],
];

const step = fc.oneof(
  fc.record({ do: fc.constant('submit' as const), kind: fc.nat(KINDS.length - 1), n: fc.nat(2) }),
  fc.record({ do: fc.constant('cancel' as const), which: fc.nat(30) }),
  fc.record({ do: fc.constantFrom('succeed', 'fail', 'retry'), which: fc.nat(10) }),
  fc.record({ do: fc.constant('advance' as const), ms: fc.nat(5000) }),
  fc.record({ do: fc.constant('settle' as const) }),
);

describe('any order of submitting, cancelling and ending', () => {
  it('never runs two tasks in a lane, never shares the store with an exclusive task, and ends', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80, size: 'max' }), async (steps) => {
        const clock = new FakeClock();
        const database = openDatabase(':memory:');
        let id = 0;
        const engine = createTaskEngine({
          database,
          clock,
          random: () => 0.5,
          createId: () => `task-${(id += 1)}`,
          logger: createSilentLogger(),
          bootId: 'boot',
        });
        const handlers = KINDS.map(([kind, lane, storeLock]) =>
          scriptedHandler(kind, { lane, storeLock, maxAttempts: 3 }),
        );
        for (const handler of handlers) engine.jobs.register(handler);
        engine.start();
        const live = (): Array<{ handler: Job; run: (typeof handlers)[0]['runs'][0] }> =>
          handlers.flatMap((handler) => handler.runs.map((run) => ({ handler, run })));
        const check = (): void => {
          const lanes = live().map(({ handler }) => handler.lane);
          expect(new Set(lanes).size).toBe(lanes.length);
          const locks = live().map(({ handler }) => handler.storeLock);
          const exclusive = locks.filter((lock) => lock === 'exclusive').length;
          expect(exclusive === 0 || (exclusive === 1 && !locks.includes('shared'))).toBe(true);
          const rows = engine.list(100).filter((task) => ['running', 'cancelling'].includes(task.status));
          expect(new Set(rows.map((task) => task.lane)).size).toBe(rows.length);
        };
        for (const action of steps) {
          if (action.do === 'submit') {
            const kind = KINDS[action.kind]?.[0] ?? '';
            engine.submit({ kind, args: { n: action.n }, dedupe: true });
          } else if (action.do === 'cancel') {
            const task = engine.list(100)[action.which];
            if (task !== undefined && task.finished_at === null) engine.cancel(task.task_id, null);
          } else if (action.do === 'advance') {
            await clock.advance(action.ms);
          } else if (action.do === 'settle') {
            await settle();
          } else {
            const { run } = live()[action.which] ?? {};
            if (action.do === 'succeed') run?.succeed();
            else run?.fail(new TaskError('failed', 'no', { retryable: action.do === 'retry' }));
          }
          check();
        }
        // Whatever happened, nothing is left when every run has been resumed.
        for (
          let round = 0;
          round < 200 && engine.list(100).some((task) => task.finished_at === null);
          round += 1
        ) {
          for (const { run } of live()) run.succeed();
          await clock.advance(2000);
          await settle();
          check();
        }
        expect(engine.list(100).filter((task) => task.finished_at === null)).toEqual([]);
        await engine.stop(0);
        database.close();
      }),
      { numRuns: campaignSize(25, 1000) },
    );
  }, 120_000);
});
