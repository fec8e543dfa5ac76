import { expect, test } from 'vitest';
import {
  afterRecovery,
  createRecoveryRun,
} from '../../../../../src/daemon/releases/recovery/recovery-run.ts';
import { SYNC_JOB } from '../../../../../src/daemon/releases/jobs/release-jobs.ts';
import { implementJob } from '../../../../../src/daemon/tasks/job.ts';
import type { TaskContext } from '../../../../../src/daemon/tasks/task.ts';
import { createSilentLogger } from '../../../../../src/platform/logging/logging.ts';
import { FakeClock } from '../../../../fakes/fake-clock.ts';

test('a volume that is not usable yet is retried, and tasks wait until it is', async () => {
  const clock = new FakeClock();
  let attempts = 0;
  let done = 0;
  const recovery = createRecoveryRun({
    recover: async () => {
      attempts += 1;
      if (attempts < 3) throw new Error('EROFS');
    },
    clock,
    logger: createSilentLogger(),
  });
  let ran = false;
  const handler = afterRecovery(
    implementJob(SYNC_JOB, async () => {
      ran = true;
      return {};
    }),
    recovery,
  );
  const running = handler.run({ args: {}, signal: new AbortController().signal } as unknown as TaskContext);
  await recovery.start(() => {
    done += 1;
  });
  expect([attempts, done, ran]).toEqual([1, 0, false]);
  await clock.advance(10_000);
  expect([attempts, done, ran]).toEqual([2, 0, false]);
  await clock.advance(10_000);
  await running;
  expect([attempts, done, ran]).toEqual([3, 1, true]);
  await recovery.stop();
});

test('a waiting task is cancelled, and stopping ends the attempts', async () => {
  const clock = new FakeClock();
  const recovery = createRecoveryRun({
    recover: async () => {
      throw new Error('EROFS');
    },
    clock,
    logger: createSilentLogger(),
  });
  await recovery.start(() => undefined);
  const cancelled = new AbortController();
  const waiting = recovery.done(cancelled.signal);
  cancelled.abort(new Error('cancelled'));
  await expect(waiting).rejects.toThrow('cancelled');
  await recovery.stop();
  expect(clock.sleeping).toBe(0);
});
