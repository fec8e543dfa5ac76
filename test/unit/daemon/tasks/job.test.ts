import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { callOf, implementJob, type JobDefinition } from '../../../../src/daemon/tasks/job.ts';
import { createJobRegistry } from '../../../../src/daemon/tasks/job-registry.ts';
import { createTestEngine, scriptedHandler, settle, taskOf } from '../../../support/task-engine.ts';

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
