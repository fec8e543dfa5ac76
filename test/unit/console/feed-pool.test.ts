import { describe, it, onTestFinished } from 'vitest';
import { createFeedPool } from '../../../src/console/api/feed-pool.ts';
import { until } from '../../support/until.ts';

describe('a pool of feeds', () => {
  it('asks for all feeds, or for the one of a key', async () => {
    const asked = { task: 0, status: 0 };
    const pool = createFeedPool(() => undefined);
    onTestFinished(() => pool.clear());
    const request = (key: keyof typeof asked) => ({
      key,
      pauseAfter: () => 3_600_000,
      load: async () => await Promise.resolve((asked[key] += 1)),
    });
    pool.want([request('task'), request('status')]);
    const untilAsked = async (task: number, status: number): Promise<void> => {
      await until(() => asked.task === task && asked.status === status);
    };
    await untilAsked(1, 1);
    pool.refresh('task');
    await untilAsked(2, 1);
    pool.refresh();
    await untilAsked(3, 2);
  });
});
