import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  COURSES_MAX,
  createLastCourses,
  createTaskCourse,
  PHASES_MAX,
  SAMPLES_MAX,
} from '../../../src/engine/tasks/task-course.ts';
import { MAX_RECOVERIES } from '../../../src/engine/tasks/task-recovery.ts';
import { currentTrace, withTrace } from '../../../src/platform/logging/trace.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import {
  createTestEngine,
  scriptedHandler,
  settle,
  taskOf,
  type TestEngine,
} from '../../support/task-engine.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

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

describe('the recovery of tasks', () => {
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
      expect(taskOf(second.engine, unknown)).toMatchObject({
        status: 'failed',
        failure_code: 'unknown_kind',
      });
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

  describe('a call whose answer was lost with the process', () => {
    it.each([true, false])('gets its task again, also when it joined a running one (%s)', async (joins) => {
      const path = await file();
      const first = boot(path, 'one');
      first.engine.start();
      const submission = { kind: 'publish', args: {}, dedupe: true };
      if (joins) first.engine.submit(submission);
      await settle();
      const { task } = first.engine.submit({ ...submission, idempotencyKey: 'k1' });
      await settle();

      const second = boot(path, 'two');
      second.engine.start();
      expect(second.engine.submit({ ...submission, idempotencyKey: 'k1' })).toMatchObject({
        task: { task_id: task.task_id, status: 'failed', failure_code: 'daemon_restarted' },
        deduplicated: true,
      });
    });

    it('made no change when its inline task has no end, so that a retry makes the change once', async () => {
      const { engine, database } = createTestEngine();
      const sql = (text: string): unknown => database.prepare(text).run();
      sql('CREATE TABLE change (n INTEGER)');
      sql(`CREATE TRIGGER dies BEFORE UPDATE ON task WHEN NEW.status = 'succeeded'
         BEGIN SELECT RAISE(ABORT, 'the process dies here'); END`);
      const submission = { kind: 'schedule-run', args: {}, idempotencyKey: 'k1' };
      const change = (): { changes: unknown } => {
        sql('INSERT INTO change VALUES (1)');
        return { changes: database.prepare('SELECT count(*) AS n FROM change').get()?.['n'] };
      };
      await expect(engine.recordInline(submission, change)).rejects.toThrow('the process dies here');
      sql('DROP TRIGGER dies');
      expect(await engine.recordInline(submission, change)).toMatchObject({
        deduplicated: false,
        task: { status: 'succeeded', result: { changes: 1 } },
      });
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
});

const bytes = (done: number, phase = 'download') => ({ done, total: 1000, unit: 'bytes', phase });

describe('the course of a run', () => {
  it('keeps samples half a second apart, and always the newest', async () => {
    const clock = new FakeClock();
    const course = createTaskCourse(clock);
    expect(course.read()).toEqual([]);
    for (const done of [0, 10, 20, 30]) {
      course.add(bytes(done));
      await clock.advance(300);
    }
    const [phase] = course.read();
    expect(phase?.samples.map(({ done }) => done)).toEqual([0, 20, 30]);
    expect((phase?.samples[1]?.at ?? 0) - (phase?.samples[0]?.at ?? 0)).toBeCloseTo(0.6);
  });

  it('is bounded, however long the run and however many its phases', async () => {
    const clock = new FakeClock();
    const course = createTaskCourse(clock);
    for (let second = 0; second < 3000; second += 1) {
      course.add(bytes(second));
      await clock.advance(1000);
    }
    const samples = course.read()[0]?.samples ?? [];
    expect(samples.length).toBeLessThanOrEqual(SAMPLES_MAX + 1);
    expect(samples.length).toBeGreaterThan(SAMPLES_MAX / 2);
    expect([samples[0]?.done, samples.at(-1)?.done]).toEqual([0, 2999]);
    for (let phase = 0; phase < PHASES_MAX + 5; phase += 1) course.add(bytes(0, `phase ${phase}`));
    const phases = course.read().map(({ phase }) => phase);
    expect(phases).toHaveLength(PHASES_MAX);
    expect(phases.at(-1)).toBe(`phase ${PHASES_MAX + 4}`);
  });

  it('is known while the task runs and after its end, for the last runs', async () => {
    const { engine } = createTestEngine();
    const sync = scriptedHandler('sync');
    engine.jobs.register(sync);
    engine.start();
    const { task } = engine.submit({ kind: 'sync', args: {}, dedupe: false });
    await settle();
    expect(engine.course(task.task_id)).toEqual([]);
    sync.runs[0]?.context.progress(5, 10, 'entries', 'compare');
    const known = [
      {
        phase: 'compare',
        unit: 'entries',
        total: 10,
        samples: [{ at: expect.any(Number) as number, done: 5 }],
      },
    ];
    expect(engine.course(task.task_id)).toEqual(known);
    sync.runs[0]?.succeed({});
    await settle();
    expect(engine.get(task.task_id)?.status).toBe('succeeded');
    expect(engine.course(task.task_id)).toEqual(known);
    expect(engine.course('another')).toEqual([]);
  });

  it('is forgotten for the oldest runs', () => {
    const last = createLastCourses();
    const course = createTaskCourse(new FakeClock());
    course.add(bytes(1));
    for (let run = 0; run <= COURSES_MAX; run += 1) last.keep(`t${run}`, course);
    expect([last.read('t0'), last.read('t1')]).toEqual([[], course.read()]);
  });
});
