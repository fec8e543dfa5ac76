import { describe, expect, it } from 'vitest';
import { createChunkOrder } from '../../../../../src/daemon/translation/worker/chunk-order.ts';

const SETTINGS = { owner: 'w1', leaseSeconds: 60, maxAttempts: 3, taskId: null };

describe('the order of the chunks of a run', () => {
  it('begins no more tasks than the run may, and takes every chunk of those', () => {
    const order = createChunkOrder({ ...SETTINGS, maxTasks: 2 });
    const requests = [
      [4, 0],
      [4, 1],
      [7, 0],
      [7, 3],
    ].map(([taskSeq = 0, number = 0]) => {
      const { after, untilTask } = order.next();
      order.passed({ taskSeq, number });
      return [after, untilTask];
    });
    expect(requests).toEqual([
      [null, null],
      [{ taskSeq: 4, number: 0 }, null],
      [{ taskSeq: 4, number: 1 }, null],
      [{ taskSeq: 7, number: 0 }, 7],
    ]);
    expect(order.next()).toEqual({ ...SETTINGS, after: { taskSeq: 7, number: 3 }, untilTask: 7 });
  });

  it('goes through more tasks than a call has room for arguments', () => {
    const tasks = 200_000;
    const order = createChunkOrder({ ...SETTINGS, maxTasks: tasks });
    for (let taskSeq = 1; taskSeq <= tasks; taskSeq += 1) order.passed({ taskSeq, number: 0 });
    expect(order.next()).toMatchObject({ untilTask: tasks });
  });
});
