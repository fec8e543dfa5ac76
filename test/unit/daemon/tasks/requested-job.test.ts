import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { JobDefinition } from '../../../../src/daemon/tasks/job.ts';
import { createRequestedJob } from '../../../../src/daemon/tasks/requested-job.ts';
import type { TaskContext, Task } from '../../../../src/daemon/tasks/task.ts';
import type { TaskEngine } from '../../../../src/daemon/tasks/task-engine.ts';
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
  const requested = createRequestedJob(engine, DEFINITION, async () => {
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
    const requested = createRequestedJob(engine, DEFINITION, () => Promise.resolve({}));
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

  it('does not run again by itself after a failure, and does with the next request', async () => {
    const { engine, passes, requested, tasks } = open();
    requested.request();
    engine.start();
    await until(() => passes.length === 1);
    requested.request();
    passes[0]?.reject(new Error('broken'));
    await until(() => tasks().every(({ status }) => status === 'failed'));
    await setImmediate();
    expect(passes).toHaveLength(1);
    requested.request();
    await until(() => passes.length === 2);
    passes[1]?.resolve();
    await until(() => tasks().some(({ status }) => status === 'succeeded'));
  });
});
