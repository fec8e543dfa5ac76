import { describe, expect, it } from 'vitest';
import { WAITING_MS } from '../../../src/engine/tasks/task-outcome.ts';
import { TaskError } from '../../../src/engine/tasks/task.ts';
import { INLINE_WAIT_MS } from '../../../src/engine/tasks/inline-tasks.ts';
import { ServiceError } from '../../../src/contract/problems/service-error.ts';
import {
  createTestEngine,
  scriptedHandler,
  settle,
  taskOf,
  type ScriptedHandler,
  type TestEngine,
} from '../../support/task-engine.ts';

interface Fixture extends TestEngine {
  readonly sync: ScriptedHandler;
  readonly submit: (args?: Record<string, unknown>, kind?: string) => string;
}

async function fixture(options: Parameters<typeof scriptedHandler>[1] = {}): Promise<Fixture> {
  const test = createTestEngine();
  const sync = scriptedHandler('sync', options);
  test.engine.jobs.register(sync);
  test.engine.start();
  await settle();
  return {
    ...test,
    sync,
    submit: (args = {}, kind = 'sync') => test.engine.submit({ kind, args, dedupe: false }).task.task_id,
  };
}

it('tries a task again within the longest wait after the wall clock was set back', async () => {
  const { engine, sync, submit, clock } = await fixture({ maxAttempts: 5 });
  clock.jumpTo(clock.now() + 2 * 86_400_000);
  const id = submit();
  await settle();
  sync.runs[0]?.fail(new TaskError('upstream_timeout', 'slow', { retryable: true }));
  await settle();
  clock.jumpTo(clock.now() - 2 * 86_400_000);
  await clock.advance(120_000);
  expect(taskOf(engine, id)).toMatchObject({ status: 'running', attempt: 2 });
});

describe('single flight', () => {
  it('returns the equal task that is queued or running, in any order of arguments', async () => {
    const { engine, sync } = await fixture();
    const first = engine.submit({
      kind: 'sync',
      args: { a: 1, b: { c: 2n ** 60n, d: [1, 2] } },
      dedupe: true,
    });
    const whileQueued = engine.submit({
      kind: 'sync',
      args: { b: { d: [1, 2], c: 2n ** 60n }, a: 1 },
      dedupe: true,
    });
    expect([first.deduplicated, whileQueued.deduplicated]).toEqual([false, true]);
    expect(whileQueued.task.task_id).toBe(first.task.task_id);
    await settle();
    const whileRunning = engine.submit({ kind: 'sync', args: first.task.args, dedupe: true });
    expect(whileRunning.task).toMatchObject({ task_id: first.task.task_id, status: 'running' });
    const other = engine.submit({
      kind: 'sync',
      args: { a: 1, b: { c: 2n ** 60n, d: [2, 1] } },
      dedupe: true,
    });
    expect(other.deduplicated).toBe(false);
    sync.runs[0]?.succeed();
    await settle();
    expect(engine.submit({ kind: 'sync', args: first.task.args, dedupe: true }).deduplicated).toBe(false);
  });

  it('does not join a task that is being cancelled', async () => {
    const { engine } = await fixture({ deaf: true });
    const first = engine.submit({ kind: 'sync', args: {}, dedupe: true });
    await settle();
    expect(engine.cancel(first.task.task_id, null).status).toBe('cancelling');
    expect(engine.submit({ kind: 'sync', args: {}, dedupe: true }).deduplicated).toBe(false);
  });

  it('keeps integers beyond 2^53 in arguments and results', async () => {
    const { engine, sync, submit } = await fixture();
    const id = submit({ path_id: -9180874206900030759n });
    await settle();
    expect(sync.runs[0]?.context.args).toEqual({ path_id: -9180874206900030759n });
    sync.runs[0]?.succeed({ seen: 9007199254740993n });
    await settle();
    expect(taskOf(engine, id).result).toEqual({ seen: 9007199254740993n });
  });
});

describe('an idempotency key', () => {
  it('returns its earlier task, for a day, also when it has ended', async () => {
    const { engine, sync, clock } = await fixture();
    const submission = { kind: 'sync', args: { force: true }, dedupe: false, idempotencyKey: 'k1' };
    const first = engine.submit(submission);
    await settle();
    sync.runs[0]?.succeed({ n: 1 });
    await settle();
    const again = engine.submit(submission);
    expect([again.deduplicated, again.task.task_id, again.task.status]).toEqual([
      true,
      first.task.task_id,
      'succeeded',
    ]);
    expect(() => engine.submit({ ...submission, args: {} })).toThrow(
      expect.objectContaining({ code: 'idempotency_key_reused' }),
    );
    await clock.advance(86_401_000);
    expect(engine.submit(submission).deduplicated).toBe(false);
  });

  it('returns the task that its call joined when that task has ended, for a day', async () => {
    const { engine, sync, clock } = await fixture();
    const call = (idempotencyKey: string): ReturnType<typeof engine.submit> =>
      engine.submit({ kind: 'sync', args: {}, dedupe: true, idempotencyKey });
    const first = call('created');
    await settle();
    expect(call('joined')).toMatchObject({
      task: { task_id: first.task.task_id, status: 'running' },
      deduplicated: true,
    });
    sync.runs[0]?.fail(new TaskError('upstream_unavailable', 'it is away'));
    await settle();
    await clock.advance(86_000_000);
    for (const key of ['joined', 'created']) {
      expect(call(key)).toMatchObject({
        task: { task_id: first.task.task_id, status: 'failed' },
        deduplicated: true,
      });
    }
    await clock.advance(401_000);
    expect(call('joined').deduplicated).toBe(false);
  });

  it('is kept for a day when its ended task is one of very many', async () => {
    const { engine, database, sync, clock } = await fixture();
    const submission = { kind: 'sync', args: {}, dedupe: true, idempotencyKey: 'k1' };
    const { task } = engine.submit(submission);
    await settle();
    sync.runs[0]?.succeed();
    await settle();
    for (let n = 0; n < 1100; n += 1) await engine.recordInline({ kind: 'reload', args: { n } }, () => ({}));
    // The removal of old tasks runs each hour.
    for (let hour = 0; hour < 23; hour += 1) await clock.advance(3_600_000);
    expect(engine.submit(submission)).toMatchObject({
      task: { task_id: task.task_id, status: 'succeeded' },
      deduplicated: true,
    });
    for (let day = 0; day < 14; day += 1) await clock.advance(86_400_000);
    expect([engine.get(task.task_id), engine.submit(submission).deduplicated]).toEqual([null, false]);
    const { n } = database.prepare('SELECT count(*) AS n FROM idempotency').get() as { n: number };
    expect(n).toBe(1);
  });

  it('runs an inline task once, and again only after it failed', async () => {
    const { engine } = await fixture();
    const submission = { kind: 'schedule-add', args: {}, idempotencyKey: 'k2' };
    let calls = 0;
    const refuse = (): never => {
      calls += 1;
      throw new ServiceError('schedule_exists', 'it is there');
    };
    await expect(engine.recordInline(submission, refuse)).rejects.toMatchObject({ code: 'schedule_exists' });
    expect(engine.list(1)[0]).toMatchObject({
      status: 'failed',
      failure_code: 'schedule_exists',
      lane: 'admin',
    });
    const run = (): { made: number } => {
      calls += 1;
      return { made: calls };
    };
    const first = await engine.recordInline(submission, run);
    expect(first).toMatchObject({
      task: { status: 'succeeded', result: { made: 2 }, attempt: 1 },
      deduplicated: false,
    });
    expect(await engine.recordInline(submission, run)).toEqual({ task: first.task, deduplicated: true });
    expect(calls).toBe(2);
  });
});

describe('an inline task that hangs', () => {
  it('gives its callers an error in time and holds up only its own kind', async () => {
    const { engine, clock } = await fixture();
    const { promise: hung, resolve: end } = Promise.withResolvers<{ n: number }>();
    const first = expect(engine.recordInline({ kind: 'reload', args: {} }, () => hung)).rejects.toMatchObject(
      { code: 'backend_unavailable', message: expect.stringContaining('reload has not ended after') },
    );
    let calls = 0;
    const count = (): { calls: number } => ({ calls: (calls += 1) });
    const second = expect(engine.recordInline({ kind: 'reload', args: {} }, count)).rejects.toMatchObject({
      code: 'backend_unavailable',
      message: expect.stringContaining('an earlier reload has not ended'),
    });
    expect(await engine.recordInline({ kind: 'task-cancel', args: {} }, count)).toMatchObject({
      task: { status: 'succeeded', result: { calls: 1 } },
    });
    await clock.advance(INLINE_WAIT_MS);
    await Promise.all([first, second]);
    end({ n: 1 });
    await settle();
    expect(engine.list(10).map(({ kind, status }) => [kind, status])).toEqual([
      ['task-cancel', 'succeeded'],
      ['reload', 'succeeded'],
    ]);
    expect(await engine.recordInline({ kind: 'reload', args: {} }, count)).toMatchObject({
      task: { status: 'succeeded', result: { calls: 2 } },
    });
  });
});

describe('lanes', () => {
  it('run one task each, in the order of acceptance, concurrently', async () => {
    const { engine, sync, submit } = await fixture();
    const verify = scriptedHandler('verify', { lane: 'verify' });
    engine.jobs.register(verify);
    const ids = [submit({ n: 1 })];
    await settle();
    ids.push(submit({ n: 2 }), submit({ n: 3 }));
    submit({}, 'verify');
    await settle();
    expect([sync.runs.length, verify.runs.length]).toEqual([1, 1]);
    for (const _ of ids) {
      sync.runs[0]?.succeed();
      await settle();
    }
    expect(sync.order).toEqual(ids);
    expect(verify.runs).toHaveLength(1);
    expect(engine.list(10).map((task) => task.kind)).toEqual(['verify', 'sync', 'sync', 'sync']);
    expect(engine.counts()).toMatchObject({ succeeded: 3, running: 1, queued: 0 });
  });

  it('are not occupied by kinds that run beside them, of which a few run together', async () => {
    const { engine, submit } = await fixture();
    const worker = scriptedHandler('worker-run', { lane: 'i18n', parallel: 2 });
    const backup = scriptedHandler('backup', { lane: 'i18n' });
    engine.jobs.register(worker, backup);
    for (const n of [1, 2, 3]) submit({ n }, 'worker-run');
    submit({ n: 1 }, 'backup');
    submit({ n: 2 }, 'backup');
    await settle();
    expect([worker.runs.length, backup.runs.length]).toEqual([2, 1]);
    backup.runs[0]?.succeed();
    await settle();
    expect([worker.runs.length, backup.runs.length]).toEqual([2, 1]);
    worker.runs[0]?.succeed();
    await settle();
    expect(worker.order).toHaveLength(3);
    expect(engine.counts()).toMatchObject({ succeeded: 2, running: 3, queued: 0 });
  });

  it('share the store, except with a task that needs it exclusively and is not overtaken', async () => {
    const { engine, submit } = await fixture();
    const cleanup = scriptedHandler('release-cleanup', { storeLock: 'exclusive' });
    const verify = scriptedHandler('verify', { lane: 'verify', storeLock: 'shared' });
    const parse = scriptedHandler('parse', { lane: 'parse', storeLock: 'shared' });
    for (const handler of [cleanup, verify, parse]) engine.jobs.register(handler);
    const running = (): number[] => [cleanup, verify, parse].map((handler) => handler.runs.length);
    submit({}, 'verify');
    submit({}, 'parse');
    await settle();
    expect(running()).toEqual([0, 1, 1]);
    submit({}, 'release-cleanup');
    submit({}, 'verify');
    verify.runs[0]?.succeed();
    await settle();
    // The second verify could share the store with parse, but the cleanup waits longer.
    expect(running()).toEqual([0, 0, 1]);
    parse.runs[0]?.succeed();
    await settle();
    expect(running()).toEqual([1, 0, 0]);
    cleanup.runs[0]?.succeed();
    await settle();
    expect(running()).toEqual([0, 1, 0]);
  });
});

describe('a failure', () => {
  it('that can pass is retried after a growing wait, for a bounded number of attempts', async () => {
    const { engine, sync, submit, clock } = await fixture({ maxAttempts: 3 });
    const id = submit();
    const refuse = (retryAfterMs: number | null): void =>
      sync.runs[0]?.fail(
        new TaskError('upstream_unreachable', 'no answer', {
          retryable: true,
          retryAfterMs,
          details: { n: 1 },
        }),
      );
    await settle();
    refuse(null);
    await settle();
    expect(taskOf(engine, id)).toMatchObject({
      status: 'queued',
      attempt: 1,
      failure_code: 'upstream_unreachable',
    });
    expect(engine.historyOf('sync').retriedCode).toBe('upstream_unreachable');
    await clock.advance(499);
    expect(sync.runs).toHaveLength(0);
    await clock.advance(1);
    await settle();
    expect(sync.runs[0]?.context.attempt).toBe(2);
    expect(engine.historyOf('sync').retriedCode).toBe('upstream_unreachable');
    refuse(5000);
    await settle();
    await clock.advance(4999);
    expect(sync.runs).toHaveLength(0);
    await clock.advance(1);
    await settle();
    refuse(null);
    await settle();
    expect(taskOf(engine, id)).toMatchObject({
      status: 'failed',
      attempt: 3,
      failure_code: 'upstream_unreachable',
      failure_reason: 'no answer',
      result: { n: 1 },
    });
    expect(engine.historyOf('sync').retriedCode).toBeNull();
  });

  it('that waits for other tasks is retried without counting, and can be cancelled', async () => {
    const { engine, sync, submit, clock } = await fixture({ maxAttempts: 2 });
    const id = submit();
    for (let wait = 1; wait <= 5; wait += 1) {
      await settle();
      expect(sync.runs[0]?.context.attempt).toBe(1);
      sync.runs[0]?.fail(new TaskError('tasks_not_built', 'a parse runs', { retryable: true, waits: true }));
      await settle();
      expect(taskOf(engine, id)).toMatchObject({
        status: 'queued',
        attempt: 0,
        failure_code: 'tasks_not_built',
        failure_reason: 'a parse runs',
      });
      await clock.advance(WAITING_MS);
    }
    await settle();
    engine.cancel(id, null);
    await settle();
    expect(taskOf(engine, id).status).toBe('cancelled');
  });

  it('that succeeds later leaves no trace of itself', async () => {
    const { engine, sync, submit, clock } = await fixture({ maxAttempts: 2 });
    const id = submit();
    await settle();
    sync.runs[0]?.fail(new TaskError('upstream_timeout', 'slow', { retryable: true }));
    await settle();
    await clock.advance(1000);
    await settle();
    sync.runs[0]?.succeed({ ok: true });
    await settle();
    expect(taskOf(engine, id)).toMatchObject({
      status: 'succeeded',
      failure_code: null,
      failure_reason: null,
    });
  });

  it('that is unexpected does not reveal its message', async () => {
    const { engine, sync, submit } = await fixture({ maxAttempts: 5 });
    const id = submit();
    await settle();
    sync.runs[0]?.fail(new Error('secret path /root/x'));
    await settle();
    const task = taskOf(engine, id);
    expect(task).toMatchObject({ status: 'failed', failure_code: 'internal_error', attempt: 1 });
    expect(JSON.stringify([task, engine.logs(id)])).not.toContain('/root/x');
  });

  it('of a handler that throws before it returns a promise frees the lane', async () => {
    const { engine, sync, submit } = await fixture();
    engine.jobs.register({
      ...sync,
      kind: 'broken',
      run: () => {
        throw new Error('broken');
      },
    });
    const id = submit({}, 'broken');
    submit();
    await settle();
    expect([taskOf(engine, id).status, sync.runs.length]).toEqual(['failed', 1]);
  });
});

describe('progress and log', () => {
  it('a task ends also when the lines of its log cannot be added', async () => {
    const { engine, sync, submit, database } = await fixture();
    database.prepare('ALTER TABLE task_log RENAME TO task_log_away').run();
    const id = submit();
    await settle();
    sync.runs[0]?.succeed({ n: 1 });
    await settle();
    expect(taskOf(engine, id)).toMatchObject({ status: 'succeeded', result: { n: 1 } });
    const next = submit();
    await settle();
    expect(taskOf(engine, next).status).toBe('running');
  });

  it('shows the newest progress while it runs and writes it seldom', async () => {
    const { engine, sync, submit, clock, database } = await fixture();
    const id = submit();
    await settle();
    const written = (): unknown =>
      database.prepare('SELECT progress_done AS n FROM task WHERE task_id = ?').get(id)?.['n'];
    const { context } = sync.runs[0]!;
    for (let done = 1; done <= 1000; done += 1) context.progress(done, 1000, 'entries', 'download');
    expect(taskOf(engine, id).progress).toEqual({
      done: 1000,
      total: 1000,
      unit: 'entries',
      phase: 'download',
    });
    expect(written()).toBe(1);
    await clock.advance(250);
    context.progress(1001, null, 'entries', 'download');
    expect(written()).toBe(1001);
    context.progress(1002, null, 'entries', 'download');
    sync.runs[0]?.succeed();
    await settle();
    expect(written()).toBe(1002);
  });

  it('keeps the newest 10,000 lines and says that earlier ones were dropped', async () => {
    const { engine, sync, submit } = await fixture();
    const id = submit();
    await settle();
    const { context } = sync.runs[0]!;
    context.log('info', 'with a token', { token: 'canary', nested: { apiKey: 'canary', fine: 2n ** 60n } });
    expect(engine.logs(id)).toMatchObject({
      truncated: false,
      lines: [
        { seq: 1, message: 'sync started' },
        {
          seq: 2,
          level: 'info',
          fields: { token: '[redacted]', nested: { apiKey: '[redacted]', fine: 2n ** 60n } },
        },
      ],
    });
    for (let line = 3; line <= 10_010; line += 1) context.log('debug', `line ${line}`);
    const log = engine.logs(id);
    expect([log?.lines.length, log?.truncated, log?.lines[0]?.message, log?.lines.at(-1)?.message]).toEqual([
      10_000,
      true,
      'line 11',
      'line 10010',
    ]);
    expect(engine.logs('01NOPE')).toBeNull();
  });
});

describe('retention', () => {
  it('keeps 14 days, failed ones 30 days, and the newest 1,000 in any case', async () => {
    const { engine, clock } = await fixture();
    const day = 86_400_000;
    const fail = async (): Promise<void> => {
      await engine
        .recordInline({ kind: 'old', args: {} }, () => {
          throw new TaskError('unknown_term', 'no');
        })
        .catch(() => undefined);
    };
    await fail();
    await engine.recordInline({ kind: 'old', args: {}, idempotencyKey: 'x' }, () => ({}));
    await clock.advance(15 * day);
    expect(engine.list(2000).filter((task) => task.kind === 'old')).toHaveLength(2);
    for (let n = 0; n < 1000; n += 1) await engine.recordInline({ kind: 'new', args: { n } }, () => ({}));
    await clock.advance(3_600_000);
    expect(engine.list(2000).filter((task) => task.kind === 'old')).toMatchObject([{ status: 'failed' }]);
    await clock.advance(30 * day);
    expect(engine.list(2000).map((task) => task.kind)).toEqual(Array.from({ length: 1000 }, () => 'new'));
  });
});
