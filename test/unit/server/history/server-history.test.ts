import { Registry } from 'prom-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createScrubMetrics } from '../../../../src/server/scrub/scrub-metrics.ts';
import { beginPass } from '../../../../src/server/scrub/scrub-state.ts';
import type { ServiceAnswer, ServiceStateName } from '../../../../src/domain/service-state/service-state.ts';
import { createSilentLogger } from '../../../../src/platform/logging/logging.ts';
import { createServerHistory, type MinuteOfProcess } from '../../../../src/server/history/server-history.ts';
import type { Traffic } from '../../../../src/server/history/minute-ring.ts';
import { createScrubReader, type ScrubPosition } from '../../../../src/server/history/scrub-reader.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';

/** 12:00:30, so that the first minute is half over. */
const START = Date.UTC(2026, 0, 15, 12, 0, 30);
const FIRST = Date.UTC(2026, 0, 15, 12) / 1000;

function startHistory() {
  const clock = new FakeClock(START);
  const shared: MinuteOfProcess[] = [];
  const world = {
    state: 'healthy' as ServiceStateName,
    failure: null as Error | null,
    scrub: null as ScrubPosition | null,
  };
  let traffic: Traffic = { requests: 0, serverErrors: 0, sentBytes: 0 };
  const history = createServerHistory({
    readState: () => {
      const channel = { state: world.state };
      return { ...channel, channels: { official: channel, localized: channel } } as unknown as ServiceAnswer;
    },
    readTraffic: async () => {
      if (world.failure !== null) throw world.failure;
      const read = traffic;
      traffic = { requests: 0, serverErrors: 0, sentBytes: 0 };
      return read;
    },
    readScrub: async () => world.scrub,
    share: (own) => void shared.push(own),
    clock,
    logger: createSilentLogger(),
  });
  history.loop.start();
  onTestFinished(async () => await history.loop.stop());
  const send = (requests: number): void => {
    traffic = { requests, serverErrors: 0, sentBytes: requests * 10 };
  };
  const requests = (): (number | null)[] =>
    history.read().minutes.map((minute) => minute?.traffic?.requests ?? null);
  return { clock, history, shared, world, send, requests };
}

describe('the history of a server', () => {
  it('gives complete minutes only, from the one in which the server started', async () => {
    const { clock, history, send, requests } = startHistory();
    expect(history.read()).toEqual({ from: FIRST, minutes: [] });
    send(3);
    await clock.advance(31_000);
    expect(history.read().from).toBe(FIRST);
    expect(requests()).toEqual([3]);
    send(5);
    await clock.advance(60_000);
    expect(requests()).toEqual([3, 5]);
    expect(history.read().minutes.at(-1)).toMatchObject({ traffic: { sentBytes: 50 } });
  });

  it('does not give a minute that has ended before its traffic is read', async () => {
    const { clock, requests } = startHistory();
    await clock.advance(5000);
    clock.jumpAhead(25_900);
    expect(requests()).toEqual([]);
  });

  it('sees a failure that lasts only seconds', async () => {
    const { clock, history, world } = startHistory();
    await clock.advance(5000);
    world.state = 'damaged';
    await clock.advance(2000);
    world.state = 'healthy';
    await clock.advance(85_000);
    expect(history.read().minutes.map((minute) => minute?.states.official)).toEqual(['damaged', 'healthy']);
  });

  it('has the worst state of a failure that lasts less than a second', async () => {
    const { clock, history, world } = startHistory();
    await clock.advance(5300);
    world.state = 'damaged';
    history.noteState();
    world.state = 'healthy';
    history.noteState();
    await clock.advance(85_000);
    expect(history.read().minutes.map((minute) => minute?.states.official)).toEqual(['damaged', 'healthy']);
  });

  it('tells the scrub of its process, or else what the process that scrubs told last', async () => {
    const { clock, history, shared, world } = startHistory();
    expect(await history.scrub()).toBeNull();
    const other = { pass: 2, share: 0.5, damageFound: 0, completedAt: FIRST };
    history.add({
      minute: FIRST / 60,
      traffic: { requests: 0, serverErrors: 0, sentBytes: 0 },
      scrub: other,
    });
    await clock.advance(31_000);
    expect(shared[0]?.scrub).toBeNull();
    expect(await history.scrub()).toEqual(other);
    world.scrub = { ...other, share: 0.6 };
    expect(await history.scrub()).toEqual(world.scrub);
    await clock.advance(60_000);
    expect(shared[1]?.scrub).toEqual(world.scrub);
  });

  it('reads the scrub from the metrics, once it has begun', async () => {
    const registry = new Registry();
    const read = createScrubReader({ registry });
    expect(await read()).toBeNull();
    let found = 0;
    const metrics = createScrubMetrics(registry, { count: () => found });
    expect(await read()).toBeNull();
    const state = beginPass({ pass: 1, firstStep: 0, begunAt: FIRST, completedAt: null });
    metrics.show({ ...state, stepsDone: 64 });
    found = 1;
    expect(await read()).toEqual({ pass: 1, share: 0.25, damageFound: 1, completedAt: null });
    metrics.show({ ...state, pass: 2, completedAt: FIRST });
    expect(await read()).toMatchObject({ pass: 2, share: 0, completedAt: FIRST });
  });

  it('shares its minutes, and adds those of the other processes', async () => {
    const { clock, history, shared, send, requests } = startHistory();
    send(3);
    await clock.advance(31_000);
    const [own] = shared;
    expect(own).toMatchObject({ minute: FIRST / 60, traffic: { requests: 3 } });
    history.add(own!);
    expect(requests()).toEqual([6]);
  });

  it('has no record of a time in which the process stood still', async () => {
    const { clock, requests } = startHistory();
    await clock.advance(31_000);
    clock.jumpTo(clock.now() + 180_000);
    await clock.advance(61_000);
    expect(requests()).toEqual([0, 0, null, null, 0]);
  });

  it('continues after a minute that could not be read', async () => {
    const { clock, world, send, requests } = startHistory();
    world.failure = new Error('no metrics');
    await clock.advance(31_000);
    world.failure = null;
    send(4);
    await clock.advance(60_000);
    expect(requests()).toEqual([null, 4]);
  });
});
