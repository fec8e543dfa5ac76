import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { currentTrace, withTrace } from '../../../../src/platform/logging/trace.ts';
import { MAX_RECOVERIES } from '../../../../src/daemon/tasks/task-recovery.ts';
import {
  createTestEngine,
  scriptedHandler,
  settle,
  taskOf,
  type TestEngine,
} from '../../../support/task-engine.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

function boot(path: string, bootId: string): TestEngine & { sync: ReturnType<typeof scriptedHandler> } {
  const test = createTestEngine({ path, bootId });
  const sync = scriptedHandler('sync', { resumable: true, deaf: true });
  test.engine.jobs.register(sync);
  test.engine.jobs.register(scriptedHandler('publish', { deaf: true, lane: 'i18n' }));
  return { ...test, sync };
}

async function file(): Promise<string> {
  return join(await temporaryDirectory(), 'main.db');
}

describe('after a process died', () => {
  it('a queued task and one that ran keep the trace of the request that began them', async () => {
    const path = await file();
    const first = boot(path, 'one');
    first.engine.start();
    const trace = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), flags: '01', state: 'vendor=1' };
    const submit = (n: number): string =>
      first.engine.submit({ kind: 'sync', args: { n }, dedupe: true }).task.task_id;
    const [running, queued] = withTrace(trace, () => [submit(1), submit(2)]);
    const without = submit(3);
    await settle();
    const found = new Map<string, unknown>();
    const second = createTestEngine({ path, bootId: 'two' });
    second.engine.jobs.register({
      ...scriptedHandler('sync', { resumable: true }),
      run: async ({ taskId }) => {
        found.set(taskId, currentTrace());
        return await Promise.resolve({});
      },
    });
    second.engine.start();
    await settle();
    await settle();
    expect(found).toEqual(
      new Map<string | undefined, unknown>([
        [running, trace],
        [queued, trace],
        [without, null],
      ]),
    );
  });

  it('resumable tasks continue under their id, others have failed, cancelled ones are cancelled', async () => {
    const path = await file();
    const first = boot(path, 'one');
    first.engine.jobs.register(scriptedHandler('repair', { lane: 'verify', resumable: true, deaf: true }));
    first.engine.start();
    const ids = ['sync', 'publish', 'repair'].map(
      (kind) => first.engine.submit({ kind, args: {}, dedupe: true }).task.task_id,
    );
    const queued = first.engine.submit({ kind: 'sync', args: { n: 2 }, dedupe: true }).task.task_id;
    const unknown = first.engine.submit({ kind: 'repair', args: { n: 2 }, dedupe: true }).task.task_id;
    await settle();
    first.engine.cancel(ids[2]!, 'stop it');
    first.sync.runs[0]?.context.log('info', 'half way');
    first.engine.logs(ids[0]!);

    const second = boot(path, 'two');
    const ended: Array<[string, string]> = [];
    second.engine.onFinished((task) => ended.push([task.task_id, task.status]));
    second.engine.start();
    expect(taskOf(second.engine, ids[0]!)).toMatchObject({ status: 'queued', attempt: 0 });
    expect(taskOf(second.engine, ids[1]!)).toMatchObject({
      status: 'failed',
      failure_code: 'daemon_restarted',
    });
    expect(taskOf(second.engine, ids[2]!)).toMatchObject({ status: 'cancelled', cancel_reason: 'stop it' });
    expect(taskOf(second.engine, unknown)).toMatchObject({ status: 'failed', failure_code: 'unknown_kind' });
    expect(ended.map(([, status]) => status)).toEqual(['failed', 'cancelled', 'failed']);
    await settle();
    expect(second.sync.runs[0]?.context).toMatchObject({ taskId: ids[0], attempt: 1 });
    second.sync.runs[0]?.succeed();
    await settle();
    expect(second.sync.order).toEqual([ids[0], queued]);
    const messages = second.engine.logs(ids[0]!)?.lines.map((line) => line.message);
    expect(messages).toEqual(['sync started', 'half way', 'sync started', 'sync succeeded']);
  });

  it('a task that repeatedly crashes the process is given up', async () => {
    const path = await file();
    let id = '';
    for (let start = 0; start <= MAX_RECOVERIES; start += 1) {
      const { engine } = boot(path, `boot ${start}`);
      engine.start();
      id = engine.submit({ kind: 'sync', args: {}, dedupe: true }).task.task_id;
      await settle();
      expect(taskOf(engine, id)).toMatchObject({ status: 'running', attempt: 1 });
    }
    const last = boot(path, 'last');
    last.engine.start();
    expect(taskOf(last.engine, id)).toMatchObject({ status: 'failed', failure_code: 'daemon_restarted' });
  });
});

describe('an idempotency key', () => {
  it('of an inline task that died with the process is free again', async () => {
    const path = await file();
    const first = boot(path, 'one');
    const submission = { kind: 'reload', args: {}, idempotencyKey: 'k1' };
    void first.engine.recordInline(submission, () => new Promise(() => undefined));
    await settle();
    const [died] = first.engine.list(1);
    const second = boot(path, 'two');
    second.engine.start();
    expect(taskOf(second.engine, died!.task_id)).toMatchObject({ failure_code: 'daemon_restarted' });
    await second.clock.advance(1000);
    const again = await second.engine.recordInline(submission, () => ({ n: 1 }));
    expect(again).toMatchObject({ deduplicated: false, task: { status: 'succeeded', result: { n: 1 } } });
  });
});

describe('stopping', () => {
  it('queues resumable tasks again immediately and waits until they have stopped', async () => {
    const test = createTestEngine();
    const sync = scriptedHandler('sync', { resumable: true });
    const parse = scriptedHandler('parse', { lane: 'parse' });
    const verify = scriptedHandler('verify', { lane: 'verify', deaf: true });
    for (const handler of [sync, parse, verify]) test.engine.jobs.register(handler);
    test.engine.start();
    const ids = ['sync', 'parse', 'verify'].map(
      (kind) => test.engine.submit({ kind, args: {}, dedupe: true }).task.task_id,
    );
    await settle();
    const stopped = test.engine.stop(10_000);
    await settle();
    verify.runs[0]?.succeed({ n: 1 });
    await stopped;
    expect(ids.map((id) => taskOf(test.engine, id))).toMatchObject([
      { status: 'queued', attempt: 0, failure_code: null },
      { status: 'failed', failure_code: 'daemon_restarted' },
      { status: 'succeeded', result: { n: 1 } },
    ]);
    expect(sync.order).toHaveLength(1);
  });

  it('gives up on a task that does not stop', async () => {
    const test = createTestEngine();
    const sync = scriptedHandler('sync', { resumable: true, deaf: true });
    test.engine.jobs.register(sync);
    test.engine.start();
    const { task } = test.engine.submit({ kind: 'sync', args: {}, dedupe: true });
    await settle();
    const stopped = test.engine.stop(10_000);
    await test.clock.advance(10_000);
    await stopped;
    sync.runs[0]?.succeed();
    await settle();
    expect(taskOf(test.engine, task.task_id).status).toBe('running');
  });
});
