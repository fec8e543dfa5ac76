import { describe, expect, it } from 'vitest';
import { TaskError } from '../../../../src/daemon/tasks/task.ts';
import { createTestEngine, scriptedHandler, settle, taskOf } from '../../../support/task-engine.ts';

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
