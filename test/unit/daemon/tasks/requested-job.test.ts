import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { JobDefinition } from '../../../../src/daemon/tasks/job.ts';
import { createRequestedJob } from '../../../../src/daemon/tasks/requested-job.ts';
import type { TaskContext, Task } from '../../../../src/daemon/tasks/task.ts';
import type { TaskEngine } from '../../../../src/daemon/tasks/task-engine.ts';
import { createSilentLogger } from '../../../../src/platform/logging/logging.ts';
import { createTestEngine } from '../../../support/task-engine.ts';
import { until } from '../../../support/until.ts';

const DEFINITION = {
  kind: 'tidy',
  summary: 'Tidies.',
  lane: 'parse',
  scope: 'operate',
  groups: ['i18n'],
  arguments: z.strictObject({}),
  resumable: true,
  maxAttempts: 1,
  storeLock: 'none',
} as const satisfies JobDefinition;

function open() {
  const { engine } = createTestEngine();
  const passes: PromiseWithResolvers<void>[] = [];
  const requested = createRequestedJob({ engine, logger: createSilentLogger() }, DEFINITION, async () => {
    const pass = Promise.withResolvers<void>();
    passes.push(pass);
    await pass.promise;
    return { pass: passes.length };
  });
  engine.jobs.register(requested.job);
  const tasks = () => engine.list(100);
  return { engine, passes, requested, tasks };
}

describe('a job that other parts ask for', () => {
  it('runs a whole pass after the last request, in as few tasks as possible', async () => {
    const { engine, passes, requested, tasks } = open();
    for (let count = 0; count < 5; count += 1) requested.request();
    engine.start();
    await until(() => passes.length === 1);
    requested.request();
    requested.request();
    passes[0]?.resolve();
    await until(() => passes.length === 2);
    passes[1]?.resolve();
    await until(() => tasks().every(({ status }) => status === 'succeeded'));
    expect(tasks().map(({ result }) => result)).toEqual([{ pass: 2 }]);
  });

  it('runs again for a request between its last pass and its recorded end', async () => {
    let submitted = 0;
    let finish: (task: Task) => void = () => undefined;
    const engine: Pick<TaskEngine, 'submit' | 'onFinished'> = {
      submit: () => {
        submitted += 1;
        return { task: {} as Task, deduplicated: true };
      },
      onFinished: (listener) => {
        finish = listener;
      },
    };
    const requested = createRequestedJob({ engine, logger: createSilentLogger() }, DEFINITION, () =>
      Promise.resolve({}),
    );
    requested.request();
    await requested.job.run({ args: {} } as TaskContext);
    // The engine answers with the task that has not ended yet.
    requested.request();
    expect(submitted).toBe(2);
    finish({ kind: 'tidy', status: 'succeeded' } as Task);
    expect(submitted).toBe(3);
    await requested.job.run({ args: {} } as TaskContext);
    finish({ kind: 'tidy', status: 'succeeded' } as Task);
    expect(submitted).toBe(3);
  });

  it('runs once more after a failure for a request that came meanwhile, and not by itself', async () => {
    const { engine, passes, requested, tasks } = open();
    requested.request();
    engine.start();
    await until(() => passes.length === 1);
    requested.request();
    passes[0]?.reject(new Error('broken'));
    await until(() => passes.length === 2);
    passes[1]?.reject(new Error('broken'));
    await until(() => tasks().every(({ status }) => status === 'failed'));
    await setImmediate();
    expect(tasks()).toHaveLength(2);
    requested.request();
    await until(() => passes.length === 3);
    passes[2]?.resolve();
    await until(() => tasks().some(({ status }) => status === 'succeeded'));
  });

  it('ends with a task that is cancelled before it runs, until the next request', async () => {
    const { engine, passes, requested, tasks } = open();
    requested.request();
    engine.cancel(tasks()[0]?.task_id ?? '', null);
    expect(tasks().map(({ status }) => status)).toEqual(['cancelled']);
    requested.request();
    engine.start();
    await until(() => passes.length === 1);
    passes[0]?.resolve();
    await until(() => tasks().some(({ status }) => status === 'succeeded'));
  });

  it('does not fail who requests it when it cannot be queued, and is queued by the next request', () => {
    let isFull = true;
    let submitted = 0;
    const warnings: unknown[] = [];
    const engine: Pick<TaskEngine, 'submit' | 'onFinished'> = {
      submit: () => {
        if (isFull) throw new Error('disk full');
        submitted += 1;
        return { task: {} as Task, deduplicated: false };
      },
      onFinished: () => undefined,
    };
    const logger = { warn: (...entry: unknown[]) => warnings.push(entry) };
    const requested = createRequestedJob({ engine, logger }, DEFINITION, () => Promise.resolve({}));
    requested.request();
    expect(warnings).toMatchObject([[{ err: { message: 'disk full' }, kind: 'tidy' }, expect.any(String)]]);
    isFull = false;
    requested.request();
    expect(submitted).toBe(1);
  });
});
