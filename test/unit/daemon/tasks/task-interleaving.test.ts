import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../../../src/daemon/database/database.ts';
import { createTaskEngine } from '../../../../src/daemon/tasks/create-task-engine.ts';
import type { Job } from '../../../../src/daemon/tasks/job.ts';
import { TaskError } from '../../../../src/daemon/tasks/task.ts';
import { createSilentLogger } from '../../../../src/platform/logging/logging.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { scriptedHandler, settle } from '../../../support/task-engine.ts';

const KINDS: ReadonlyArray<readonly [string, Job['lane'], Job['storeLock']]> = [
  ['sync', 'release', 'shared'],
  ['release-cleanup', 'release', 'exclusive'],
  ['verify', 'verify', 'shared'],
  ['parse', 'parse', 'none'],
  ['publish', 'i18n', 'exclusive'],
];

const step = fc.oneof(
  fc.record({ do: fc.constant('submit' as const), kind: fc.nat(KINDS.length - 1), n: fc.nat(2) }),
  fc.record({ do: fc.constant('cancel' as const), which: fc.nat(30) }),
  fc.record({ do: fc.constantFrom('succeed', 'fail', 'retry'), which: fc.nat(10) }),
  fc.record({ do: fc.constant('advance' as const), ms: fc.nat(5000) }),
  fc.record({ do: fc.constant('settle' as const) }),
);

describe('any order of submitting, cancelling and ending', () => {
  it('never runs two tasks in a lane, never shares the store with an exclusive task, and ends', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80, size: 'max' }), async (steps) => {
        const clock = new FakeClock();
        const database = openDatabase(':memory:');
        let id = 0;
        const engine = createTaskEngine({
          database,
          clock,
          random: () => 0.5,
          createId: () => `task-${(id += 1)}`,
          logger: createSilentLogger(),
          bootId: 'boot',
        });
        const handlers = KINDS.map(([kind, lane, storeLock]) =>
          scriptedHandler(kind, { lane, storeLock, maxAttempts: 3 }),
        );
        for (const handler of handlers) engine.jobs.register(handler);
        engine.start();
        const live = (): Array<{ handler: Job; run: (typeof handlers)[0]['runs'][0] }> =>
          handlers.flatMap((handler) => handler.runs.map((run) => ({ handler, run })));
        const check = (): void => {
          const lanes = live().map(({ handler }) => handler.lane);
          expect(new Set(lanes).size).toBe(lanes.length);
          const locks = live().map(({ handler }) => handler.storeLock);
          const exclusive = locks.filter((lock) => lock === 'exclusive').length;
          expect(exclusive === 0 || (exclusive === 1 && !locks.includes('shared'))).toBe(true);
          const rows = engine.list(100).filter((task) => ['running', 'cancelling'].includes(task.status));
          expect(new Set(rows.map((task) => task.lane)).size).toBe(rows.length);
        };
        for (const action of steps) {
          if (action.do === 'submit') {
            const kind = KINDS[action.kind]?.[0] ?? '';
            engine.submit({ kind, args: { n: action.n }, dedupe: true });
          } else if (action.do === 'cancel') {
            const task = engine.list(100)[action.which];
            if (task !== undefined && task.finished_at === null) engine.cancel(task.task_id, null);
          } else if (action.do === 'advance') {
            await clock.advance(action.ms);
          } else if (action.do === 'settle') {
            await settle();
          } else {
            const { run } = live()[action.which] ?? {};
            if (action.do === 'succeed') run?.succeed();
            else run?.fail(new TaskError('failed', 'no', { retryable: action.do === 'retry' }));
          }
          check();
        }
        // Whatever happened, nothing is left when every run has been resumed.
        for (
          let round = 0;
          round < 200 && engine.list(100).some((task) => task.finished_at === null);
          round += 1
        ) {
          for (const { run } of live()) run.succeed();
          await clock.advance(2000);
          await settle();
          check();
        }
        expect(engine.list(100).filter((task) => task.finished_at === null)).toEqual([]);
        await engine.stop(0);
        database.close();
      }),
      { numRuns: 100 },
    );
  }, 120_000);
});
