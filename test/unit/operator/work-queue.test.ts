import { describe, expect, it } from 'vitest';
import { createWorkQueue, type WorkQueue } from '../../../src/operator/reconcile/work-queue.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

interface Scene {
  readonly clock: FakeClock;
  readonly queue: WorkQueue;
  /** Keys in the order in which work on them began. */
  readonly begun: string[];
  /** Ends the oldest work on a key. */
  readonly end: (key: string) => Promise<void>;
}

function scene(concurrency = 2): Scene {
  const clock = new FakeClock();
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const queue = createWorkQueue({
    work: async (key) => {
      begun.push(key);
      await new Promise<void>((resolve) => {
        ends.set(key, resolve);
      });
    },
    concurrency,
    backoff: { baseMs: 100, capMs: 1_000 },
    clock,
    random: () => 1,
  });
  queue.start();
  return {
    clock,
    queue,
    begun,
    end: async (key) => {
      ends.get(key)?.();
      ends.delete(key);
      await clock.advance(0);
    },
  };
}

describe('a work queue', () => {
  it('works on a key once, however often it is added', async () => {
    const { queue, begun, end } = scene(1);
    queue.add('a');
    for (const key of ['b', 'b', 'c', 'b']) queue.add(key);
    await end('a');
    await end('b');
    await end('c');
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  it('never works on a key twice concurrently, and once more when it was added meanwhile', async () => {
    const { queue, begun, end } = scene(4);
    queue.add('a');
    queue.add('a');
    queue.add('a');
    expect(begun).toEqual(['a']);
    await end('a');
    expect(begun).toEqual(['a', 'a']);
    await end('a');
    expect(begun).toEqual(['a', 'a']);
  });

  it('respects the limit on concurrent keys', async () => {
    const { queue, begun, end } = scene(2);
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
    expect(begun).toEqual(['a', 'b']);
    await end('b');
    expect(begun).toEqual(['a', 'b', 'c']);
    expect(queue.ready).toBe(1);
  });

  it('waits as long as requested, and the earlier time wins', async () => {
    const { queue, begun, clock } = scene();
    queue.addAfter('a', 1_000);
    queue.addAfter('a', 5_000);
    queue.addAfter('b', 3_000);
    await clock.advance(999);
    expect(begun).toEqual([]);
    await clock.advance(1);
    expect(begun).toEqual(['a']);
    await clock.advance(2_000);
    expect(begun).toEqual(['a', 'b']);
  });

  it('works again on a key that was added while it was worked on and then forgotten', async () => {
    const { queue, begun, clock, end } = scene();
    queue.add('a');
    // The object is created again while the end of the one before is reconciled.
    queue.add('a');
    queue.forget('a');
    await end('a');
    await clock.advance(0);
    expect(begun).toEqual(['a', 'a']);
  });

  it('an add takes precedence over a wait', async () => {
    const { queue, begun, clock, end } = scene();
    queue.addAfter('a', 1_000);
    queue.add('a');
    await end('a');
    await clock.advance(10_000);
    expect(begun).toEqual(['a']);
  });

  it('waits longer after each failure, up to its bound, and forgets them on success', async () => {
    const { queue, begun, clock, end } = scene();
    const waits: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      queue.addFailed('a', null);
      const from = clock.monotonic();
      while (begun.length === round) await clock.advance(50);
      waits.push(clock.monotonic() - from);
      await end('a');
    }
    expect(waits).toEqual([100, 200, 400, 800, 1_000, 1_000]);
    queue.succeeded('a');
    queue.addFailed('a', null);
    await clock.advance(100);
    expect(begun).toHaveLength(7);
  });

  it('waits as long as the other party requests', async () => {
    const { queue, begun, clock } = scene();
    queue.addFailed('a', 7_000);
    await clock.advance(6_999);
    expect(begun).toEqual([]);
    await clock.advance(1);
    expect(begun).toEqual(['a']);
  });

  it('starts nothing after a stop, and waits for work in progress', async () => {
    const { queue, begun, end } = scene(1);
    queue.add('a');
    queue.add('b');
    let stopped = false;
    const stopping = queue.stop().then(() => {
      stopped = true;
    });
    expect(stopped).toBe(false);
    await end('a');
    await stopping;
    expect(begun).toEqual(['a']);
  });
});
