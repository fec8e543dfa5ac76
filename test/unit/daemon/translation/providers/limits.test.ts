import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProviderTrouble } from '../../../../../src/daemon/translation/providers/provider-failure.ts';
import { createRateLimit } from '../../../../../src/daemon/translation/providers/rate-limit.ts';
import { createSpending, priced } from '../../../../../src/daemon/translation/providers/spending.ts';
import { FakeClock } from '../../../../fakes/fake-clock.ts';
import { quickClock } from './provider-harness.ts';

const { signal } = new AbortController();
const none = { requestsPerMinute: null, charactersPerMinute: null };

describe('the rate limit', () => {
  it('lets one minute through immediately, then the rate', async () => {
    const clock = quickClock();
    const limit = createRateLimit({ requestsPerMinute: 3, charactersPerMinute: null }, clock);
    for (let request = 0; request < 5; request += 1) await limit.take(1, signal);
    expect(clock.slept).toEqual([20_000, 20_000]);
  });

  it('counts characters, and lets a request through that is larger than a minute', async () => {
    const clock = quickClock();
    const limit = createRateLimit({ requestsPerMinute: null, charactersPerMinute: 100 }, clock);
    await limit.take(250, signal);
    expect(clock.slept).toEqual([]);
    await limit.take(100, signal);
    expect(clock.slept).toEqual([150_000]);
  });

  it('is shared by concurrent requests', async () => {
    const clock = new FakeClock();
    const limit = createRateLimit({ requestsPerMinute: 2, charactersPerMinute: null }, clock);
    let through = 0;
    const all = Array.from({ length: 6 }, async () => {
      await limit.take(1, signal);
      through += 1;
    });
    const counts = [];
    for (let step = 0; step < 5; step += 1) {
      await clock.advance(step === 0 ? 0 : 30_000);
      counts.push(through);
    }
    expect(counts).toEqual([2, 3, 4, 5, 6]);
    await Promise.all(all);
  });

  it('halves its rate when throttled, waits for everyone, and recovers', async () => {
    const clock = quickClock();
    const limit = createRateLimit({ requestsPerMinute: 1, charactersPerMinute: null }, clock);
    await limit.take(1, signal);
    limit.throttled(5_000);
    await limit.take(1, signal);
    expect(clock.slept).toEqual([120_000]);
    for (let success = 0; success < 25; success += 1) limit.succeeded();
    await limit.take(1, signal);
    expect(clock.slept).toEqual([120_000, 60_000]);
    const free = createRateLimit(none, clock);
    free.throttled(5_000);
    await free.take(1, signal);
    expect(clock.slept.at(-1)).toBe(5_000);
  });

  it('stops waiting when it is cancelled', async () => {
    const abort = new AbortController();
    const limit = createRateLimit({ requestsPerMinute: 1, charactersPerMinute: null }, new FakeClock());
    await limit.take(1, signal);
    const waiting = limit.take(1, abort.signal);
    abort.abort(new Error('cancelled'));
    await expect(waiting).rejects.toThrow('cancelled');
  });
});

describe('the account of a run', () => {
  it('never goes over its caps, with any number of concurrent requests', () => {
    const estimates = fc.record({
      promptTokens: fc.integer({ min: 0, max: 50 }),
      answerTokens: fc.integer({ min: 0, max: 50 }),
      characters: fc.integer({ min: 0, max: 50 }),
      longestAnswer: fc.integer({ min: 50, max: 100 }),
    });
    const prices = { promptTokensPerMillion: 3e6, answerTokensPerMillion: 5e6, charactersPerMillion: 1e6 };
    const caps = fc.record({
      maxTokens: fc.option(fc.integer({ min: 0, max: 500 })),
      maxCost: fc.option(fc.integer({ min: 0, max: 2000 })),
    });
    fc.assert(
      fc.property(fc.array(estimates, { maxLength: 20 }), caps, (requests, { maxTokens, maxCost }) => {
        const spending = createSpending({ maxTokens, maxCost });
        const open = requests.flatMap((estimate) => {
          try {
            return [{ estimate, reservation: spending.reserve(estimate, prices) }];
          } catch (error) {
            expect(error).toBeInstanceOf(ProviderTrouble);
            return [];
          }
        });
        for (const { estimate, reservation } of open) {
          expect(reservation.longestAnswer).toBeGreaterThanOrEqual(estimate.answerTokens);
          const used = priced({ ...estimate, answerTokens: reservation.longestAnswer }, prices);
          reservation.settle(used);
          reservation.settle(used);
        }
        const { promptTokens, answerTokens, cost, requests: count } = spending.used();
        expect(count).toBe(open.length);
        expect(promptTokens + answerTokens).toBeLessThanOrEqual(maxTokens ?? Infinity);
        expect(cost).toBeLessThanOrEqual((maxCost ?? Infinity) + 1e-6);
      }),
    );
  });
});
