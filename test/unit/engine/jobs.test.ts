import type { Logger } from '../../../src/platform/logging/logging.ts';
import { partial } from '../../support/partial.ts';
import { setImmediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  callOf,
  createJobRegistry,
  implementJob,
  type JobDefinition,
} from '../../../src/engine/tasks/job.ts';
import { createRequestedJob } from '../../../src/engine/tasks/requested-job.ts';
import { createStoreLock } from '../../../src/engine/tasks/lane-runner.ts';
import type { TaskEngine } from '../../../src/engine/tasks/task-engine.ts';
import { taskDedupeKey, type Task, type TaskContext } from '../../../src/engine/tasks/task.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { backoffMs } from '../../../src/platform/process/backoff.ts';
import { createTestEngine, scriptedHandler, settle, taskOf } from '../../support/task-engine.ts';
import { until } from '../../support/until.ts';

const EXPORT_JOB = {
  kind: 'export',
  summary: '',
  lane: 'i18n',
  scope: 'translate',
  groups: ['i18n'],
  arguments: z.strictObject({ max: z.int().default(10) }),
  resumable: false,
  maxAttempts: 1,
  storeLock: 'none',
} as const satisfies JobDefinition;

describe('jobs', () => {
  describe('a job', () => {
    it('gets its arguments as its schema parses them, with defaults filled in when the task is queued', async () => {
      const { engine } = createTestEngine();
      const seen: number[] = [];
      engine.jobs.register(
        implementJob(EXPORT_JOB, async ({ args }) => {
          seen.push(args.max);
          return {};
        }),
      );
      engine.start();
      const first = engine.submit({ ...callOf(EXPORT_JOB, {}), dedupe: true });
      expect(first.task.args).toEqual({ max: 10 });
      expect(engine.submit({ ...callOf(EXPORT_JOB, { max: 10 }), dedupe: true }).deduplicated).toBe(true);
      await settle();
      expect(seen).toEqual([10]);
    });

    it('fails when another version stored arguments that do not fit', async () => {
      const { engine } = createTestEngine();
      engine.jobs.register(implementJob(EXPORT_JOB, async () => ({})));
      engine.start();
      const { task } = engine.submit({ kind: 'export', args: { max: 'all' }, dedupe: true });
      await settle();
      expect(taskOf(engine, task.task_id)).toMatchObject({
        status: 'failed',
        failure_code: 'arguments_invalid',
        failure_reason: expect.stringContaining('max'),
      });
    });
  });

  describe('the registry of jobs', () => {
    it('finds jobs by kind and by group, and rejects a second job of a kind', () => {
      const jobs = createJobRegistry();
      jobs.register(
        scriptedHandler('a', { groups: ['res', 'i18n'] }),
        scriptedHandler('b', { groups: ['res'] }),
      );
      expect([jobs.find('a')?.kind, jobs.find('c'), jobs.kindsOf('res'), jobs.kindsOf('parse')]).toEqual([
        'a',
        null,
        ['a', 'b'],
        [],
      ]);
      expect(() => jobs.register(scriptedHandler('a'))).toThrow('registered twice');
    });
  });
});

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
    const engine: TaskEngine = partial({
      submit: () => {
        submitted += 1;
        return { task: {} as Task, deduplicated: true };
      },
      onFinished: (listener) => {
        finish = listener;
      },
    });
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
    const engine: TaskEngine = partial({
      submit: () => {
        if (isFull) throw new Error('disk full');
        submitted += 1;
        return { task: {} as Task, deduplicated: false };
      },
      onFinished: () => undefined,
    });
    const logger: Logger = partial({ warn: (...entry: unknown[]) => warnings.push(entry) });
    const requested = createRequestedJob({ engine, logger }, DEFINITION, () => Promise.resolve({}));
    requested.request();
    expect(warnings).toMatchObject([[{ err: { message: 'disk full' }, kind: 'tidy' }, expect.any(String)]]);
    isFull = false;
    requested.request();
    expect(submitted).toBe(1);
  });
});

describe('the rules of tasks', () => {
  describe('the wait between attempts', () => {
    const options = { baseMs: 1000, capMs: 60_000 };

    it('doubles, half of it fixed and half of it jitter', () => {
      expect([1, 2, 3].map((attempt) => backoffMs(attempt, options, 0, null))).toEqual([500, 1000, 2000]);
      expect([1, 2, 3].map((attempt) => backoffMs(attempt, options, 0.5, null))).toEqual([750, 1500, 3000]);
    });

    it('stays within its bounds for every attempt, and honours a requested delay of up to an hour', () => {
      fc.assert(
        fc.property(
          fc.integer({ min: 1, max: 5000 }),
          fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
          fc.option(fc.integer({ min: -5, max: 10_000_000 })),
          (attempt, random, retryAfterMs) => {
            const wait = backoffMs(attempt, options, random, retryAfterMs);
            expect(wait).toBeGreaterThanOrEqual(Math.max(500, Math.min(retryAfterMs ?? 0, 3_600_000)));
            expect(wait).toBeLessThanOrEqual(Math.max(60_000, Math.min(retryAfterMs ?? 0, 3_600_000)));
          },
        ),
      );
    });
  });

  describe('the identity of a task', () => {
    it('depends on values, not on the order of members', () => {
      fc.assert(
        fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (args) => {
          const reversed = Object.fromEntries(Object.entries(args).toReversed());
          expect(taskDedupeKey('sync', reversed)).toBe(taskDedupeKey('sync', args));
          expect(taskDedupeKey('verify', args)).not.toBe(taskDedupeKey('sync', args));
        }),
      );
      expect(taskDedupeKey('sync', { n: 1 })).not.toBe(taskDedupeKey('sync', { n: '1' }));
      expect(taskDedupeKey('sync', { n: undefined })).toBe(taskDedupeKey('sync', {}));
    });
  });

  describe('the store lock', () => {
    it('is shared by many or held exclusively by one, and is released once', () => {
      const lock = createStoreLock();
      const first = lock.acquire('shared');
      const second = lock.acquire('shared');
      expect(() => lock.acquire('exclusive')).toThrow(/cannot be acquired/);
      first();
      first();
      expect(lock.state()).toEqual({ shared: 1, exclusive: false });
      second();
      const alone = lock.acquire('exclusive');
      expect(() => lock.acquire('shared')).toThrow(/cannot be acquired/);
      lock.acquire('none')();
      alone();
      expect(lock.state()).toEqual({ shared: 0, exclusive: false });
    });
  });
});
