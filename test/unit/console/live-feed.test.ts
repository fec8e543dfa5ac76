import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiFailure } from '../../../src/console/api/api-client.ts';
import { createFeedPool } from '../../../src/console/api/feed-pool.ts';
import { createFeed, pauseAfterFailure } from '../../../src/console/api/live-feed.ts';

describe('a feed', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('polls at its pace while it gets answers, and ever more slowly while it does not', async () => {
    let isDown = false;
    let asked = 0;
    const feed = createFeed({
      load: async () => {
        asked += 1;
        if (isDown) throw new ApiFailure('down');
        return asked;
      },
      pauseAfter: () => 3000,
      onChange: () => undefined,
    });
    feed.start();
    await vi.advanceTimersByTimeAsync(6000);
    expect([asked, feed.state.value.value, feed.state.value.failure]).toEqual([3, 3, null]);
    isDown = true;
    await vi.advanceTimersByTimeAsync(3000 + 1000 + 2000 + 4000);
    expect(asked).toBe(7);
    expect(feed.state.value).toMatchObject({ value: 3, failure: { message: 'down' } });
    isDown = false;
    await vi.advanceTimersByTimeAsync(8000);
    expect(feed.state.value).toMatchObject({ value: 8, failure: null });
    feed.stop();
    await vi.advanceTimersByTimeAsync(100_000);
    expect(asked).toBe(8);
    // A stopped feed announces no next request.
    expect(feed.state.value.nextAt).toBeNull();
  });

  it('waits at most half a minute, and as long as the server requests', () => {
    expect([1, 2, 3, 10].map((failures) => pauseAfterFailure(failures, null))).toEqual([
      1000, 2000, 4000, 30_000,
    ]);
    expect([pauseAfterFailure(1, 7), pauseAfterFailure(5, 0), pauseAfterFailure(1, 900)]).toEqual([
      7000, 1000, 30_000,
    ]);
  });

  it('ignores an answer that arrives after it was stopped', async () => {
    const answers: Array<(value: string) => void> = [];
    const changes = vi.fn();
    const feed = createFeed({
      load: async () => await new Promise<string>((resolve) => answers.push(resolve)),
      pauseAfter: () => 1000,
      onChange: changes,
    });
    feed.start();
    feed.refresh();
    answers[0]?.('old');
    answers[1]?.('new');
    await vi.advanceTimersByTimeAsync(0);
    expect([feed.state.value.value, changes.mock.calls.length]).toEqual(['new', 1]);
    feed.stop();
  });

  it('pauses while it is not needed and while the page is hidden', async () => {
    const asked: string[] = [];
    const pool = createFeedPool(() => undefined);
    const request = (key: string): Parameters<typeof pool.want>[0][number] => ({
      key,
      load: async () => asked.push(key),
      pauseAfter: () => 1000,
    });
    pool.want([request('a'), request('b:1')]);
    await vi.advanceTimersByTimeAsync(500);
    pool.want([request('a')]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(asked).toEqual(['a', 'b:1', 'a']);
    expect([pool.state('a').value, pool.state('b:1').value]).toEqual([3, null]);
    pool.setAwake(false);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(asked).toHaveLength(3);
    pool.setAwake(true);
    await vi.advanceTimersByTimeAsync(0);
    expect(asked).toHaveLength(4);
    pool.clear();
    expect(pool.state('a').value).toBe(null);
  });
});
