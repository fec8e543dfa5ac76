import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createTextIndexing } from '../../../../src/daemon/memory/text-indexing.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the indexing of new records', () => {
  it('begins when nothing was written for two seconds, and continues until a step finds nothing', () => {
    const step = vi.fn().mockReturnValue(true).mockReturnValueOnce(true).mockReturnValueOnce(false);
    const indexing = createTextIndexing(step);
    indexing.changed();
    vi.advanceTimersByTime(1500);
    indexing.changed();
    vi.advanceTimersByTime(1999);
    expect(step).not.toHaveBeenCalled();
    vi.advanceTimersByTime(10);
    expect(step).toHaveBeenCalledTimes(2);
    vi.advanceTimersByTime(60_000);
    expect(step).toHaveBeenCalledTimes(2);
  });

  it('begins after thirty seconds although records still arrive', () => {
    const step = vi.fn().mockReturnValue(false);
    const indexing = createTextIndexing(step);
    for (let second = 0; second < 30; second += 1) {
      indexing.changed();
      vi.advanceTimersByTime(1000);
    }
    expect(step).toHaveBeenCalledTimes(1);
  });

  it('tries again with the next change after a failure, and ends when it is stopped', () => {
    const step = vi.fn(() => {
      throw new Error('the disk is full');
    });
    const indexing = createTextIndexing(step);
    indexing.changed();
    vi.advanceTimersByTime(60_000);
    expect(step).toHaveBeenCalledTimes(1);
    indexing.changed();
    vi.advanceTimersByTime(60_000);
    expect(step).toHaveBeenCalledTimes(2);
    indexing.changed();
    indexing.stop();
    vi.advanceTimersByTime(60_000);
    expect(step).toHaveBeenCalledTimes(2);
  });
});
