import { describe, expect, it } from 'vitest';
import {
  COURSES_MAX,
  createLastCourses,
  createTaskCourse,
  PHASES_MAX,
  SAMPLES_MAX,
} from '../../../../src/daemon/tasks/task-course.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { createTestEngine, scriptedHandler, settle } from '../../../support/task-engine.ts';

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
