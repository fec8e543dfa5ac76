import { exampleOf } from '../../../scripts/reference/examples.ts';
import { Registry } from 'prom-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HealthAnswer } from '../../../src/contract/schemas/answers/health.ts';
import type { DaemonCondition } from '../../../src/domain/service-state/daemon-conditions.ts';
import { decideServiceState } from '../../../src/domain/service-state/decide-service-state.ts';
import {
  SERVICE_STATE_NAMES,
  type ServiceAnswer,
  type ServiceStateName,
} from '../../../src/domain/service-state/service-state.ts';
import { createSilentLogger, type Logger } from '../../../src/platform/logging/logging.ts';
import { createRegistry } from '../../../src/platform/metrics/metrics.ts';
import { createBytePathMetrics } from '../../../src/server/bytes/byte-path-metrics.ts';
import { MinuteRing, type Traffic } from '../../../src/server/history/minute-ring.ts';
import { readScrub, type ScrubPosition } from '../../../src/server/history/scrub-reader.ts';
import { createServerHistory, type MinuteOfProcess } from '../../../src/server/history/server-history.ts';
import { createTrafficReader } from '../../../src/server/history/traffic-reader.ts';
import { createServerMetrics } from '../../../src/server/metrics.ts';
import { createScrubMetrics } from '../../../src/server/scrub/scrub-metrics.ts';
import { beginPass } from '../../../src/server/scrub/scrub-state.ts';
import {
  createServiceStateReader,
  type ServiceStateSources,
} from '../../../src/server/service/service-state-reader.ts';
import { createServiceStateLog } from '../../../src/server/service/service-state-log.ts';
import { createStateTimes } from '../../../src/server/service/state-times.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { factsOfVerdicts } from '../../support/service-answer.ts';

const NOW = 29_500_000;
const TRAFFIC = { requests: 3, serverErrors: 1, sentBytes: 100 };

describe('a ring of minutes', () => {
  it('adds the traffic of several processes in one minute', () => {
    const ring = new MinuteRing();
    ring.addTraffic(NOW, TRAFFIC);
    ring.addTraffic(NOW, { requests: 1, serverErrors: 0, sentBytes: 5 });
    expect(ring.read(NOW, NOW + 1)).toEqual([
      {
        minute: NOW,
        traffic: { requests: 4, serverErrors: 1, sentBytes: 105 },
        states: { official: null, localized: null },
      },
    ]);
  });

  it('keeps the worst state of a minute, in whatever order the states come', () => {
    for (const states of [
      ['healthy', 'damaged', 'healthy'],
      ['damaged', 'degraded'],
      ['starting', 'damaged'],
    ] as const) {
      const ring = new MinuteRing();
      for (const state of states) ring.addState(NOW, 'official', state);
      expect(ring.read(NOW, NOW + 1)[0]?.states).toEqual({ official: 'damaged', localized: null });
    }
  });

  it('orders every state: none is better than healthy', () => {
    for (const state of SERVICE_STATE_NAMES) {
      const ring = new MinuteRing();
      ring.addState(NOW, 'localized', 'healthy');
      ring.addState(NOW, 'localized', state);
      expect(ring.read(NOW, NOW + 1)[0]?.states.localized).toBe(state);
    }
  });

  it('tells a minute without a record from a quiet one', () => {
    const ring = new MinuteRing();
    ring.addTraffic(NOW, { requests: 0, serverErrors: 0, sentBytes: 0 });
    expect(ring.read(NOW - 1, NOW + 1).map((minute) => minute?.traffic?.requests ?? null)).toEqual([null, 0]);
  });

  it('forgets minutes of more than 24 hours ago', () => {
    const ring = new MinuteRing();
    ring.addTraffic(NOW, TRAFFIC);
    ring.addTraffic(NOW + 1439, TRAFFIC);
    expect(ring.read(NOW, NOW + 1)[0]).not.toBeNull();
    ring.addTraffic(NOW + 1440, TRAFFIC);
    const kept = ring.read(NOW, NOW + 1441);
    expect(kept.flatMap((minute) => minute?.minute ?? [])).toEqual([NOW + 1439, NOW + 1440]);
  });
});

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
    const other = { pass: 2, share: 0.5, damage_found: 0, completed_at: FIRST };
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
    const read = async () => await readScrub(registry);
    expect(await read()).toBeNull();
    let found = 0;
    const metrics = createScrubMetrics(registry, { count: () => found });
    expect(await read()).toBeNull();
    const state = beginPass(1, 0, FIRST, null);
    metrics.show({ ...state, steps_done: 64, damaged: 2 });
    found = 1;
    expect(await read()).toEqual({
      pass: 1,
      share: 0.25,
      damage_found: 1,
      damage_in_pass: 2,
      completed_at: null,
    });
    metrics.show({ ...state, pass: 2, completed_at: FIRST });
    expect(await read()).toMatchObject({ pass: 2, share: 0, completed_at: FIRST });
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

const NOTHING = { requests: 0, serverErrors: 0, sentBytes: 0 };

describe('the traffic of a server', () => {
  it('is read from its metrics, since the last read, of the routes of clients', async () => {
    const registry = createRegistry({ name: 'slipway-server', version: '0.1.0' });
    const metrics = createServerMetrics(registry);
    const none = (): number => 0;
    const cdn = createBytePathMetrics(registry, {
      inFlightBytes: none,
      openDescriptors: none,
      cachedBytes: none,
    });
    const read = createTrafficReader(registry, (route) => route !== '/readyz');
    expect(await read()).toEqual(NOTHING);
    const request = { method: 'GET', bytes: 900, seconds: 0.1 };
    metrics.request({ ...request, route: '/v1/release', status: 200 });
    metrics.request({ ...request, route: '/v1/release', status: 503 });
    metrics.request({ ...request, route: '/v1/release', status: null });
    metrics.request({ ...request, route: '/readyz', status: 503 });
    cdn.sentBytes.official.add(1000);
    cdn.sentBytes.localized.add(24);
    expect(await read()).toEqual({ requests: 3, serverErrors: 1, sentBytes: 1024 });
    expect(await read()).toEqual(NOTHING);
    metrics.request({ ...request, route: '/v1/release', status: 200 });
    expect(await read()).toEqual({ requests: 1, serverErrors: 0, sentBytes: 0 });
  });

  it('is nothing in a process without these metrics', async () => {
    const registry = createRegistry({ name: 'slipway-server', version: '0.1.0' });
    expect(await createTrafficReader(registry, () => true)()).toEqual(NOTHING);
  });
});

describe('the state of the service', () => {
  function told(code: DaemonCondition['code']): DaemonCondition {
    return { code, message: `told: ${code}`, since: 1500, next_try: null };
  }

  it('calls a withdrawn channel withdrawn until a daemon that has started tells otherwise', () => {
    const { official } = exampleOf(HealthAnswer).verdicts;
    const message = 'no release is attested';
    const empty = { distributable: false, reason: 'ReleaseNotAuthorized', message, since: 1000 } as const;
    const { verdicts } = factsOfVerdicts({ official, localized: { ...empty, release_id: null } });
    let ahead: number | null = null;
    let conditions: readonly DaemonCondition[] | null = [told('localized_withdrawn')];
    const serving = {
      verdict: (channel: 'official' | 'localized') => verdicts[channel],
      attestation: () => null,
    } as unknown as ServiceStateSources['serving'];
    const read = createServiceStateReader({
      serving,
      daemon: () => ({ answers: true, failure: null, since: null, message: null }),
      refresh: () => ({ lastAttemptAt: 0, lastSuccessAt: 0, consecutiveFailures: 0, lastErrorCode: null }),
      conditions: () => conditions,
      clockAhead: () => ahead,
      isShuttingDown: () => false,
      clock: new FakeClock(),
    });
    const reason = (): string | null => read().channels.localized.reason;
    expect(reason()).toBe('ReleaseWithdrawn');
    conditions = [told('starting')];
    expect(reason()).toBe('ReleaseWithdrawn');
    conditions = null;
    expect(reason()).toBe('ReleaseWithdrawn');
    conditions = [];
    expect(reason()).toBe('NothingPublished');
    conditions = [told('starting')];
    expect(reason()).toBe('NothingPublished');
    // The channel of an edge stays a copy while the daemon of the edge starts.
    for (const now of [[told('localized_mirrored')], [told('starting')], null]) {
      conditions = now;
      expect(read().channels.localized.message).toBe('told: localized_mirrored');
    }
    conditions = [];
    const service = (seconds: number | null): unknown => {
      ahead = seconds;
      const { reason: cause, message: text } = read();
      return [cause, text];
    };
    for (const near of [null, 60, -60]) expect(service(near)).toMatchObject([null, expect.anything()]);
    expect(service(-3600)).toEqual([
      'ClockOff',
      'the clock of the daemon is about 60 min behind that of this server',
    ]);
    expect(service(120)).toMatchObject(['ClockOff', expect.stringContaining('2 min ahead of') as string]);
  });
});

/** The verdicts are since 1000 (official) and 2000 (localized). */
function answer(...conditions: readonly DaemonCondition[]): ServiceAnswer {
  const { official, localized } = structuredClone(exampleOf(HealthAnswer).verdicts);
  official.since = 1000;
  localized.since = 2000;
  return decideServiceState(factsOfVerdicts({ official, localized }, { conditions }));
}

describe('the log of the state', () => {
  it('names what has changed: the service, or only a channel, with what it was before', async () => {
    const clock = new FakeClock(START);
    const lines: object[] = [];
    const log = (fields: object, msg: string): void => void lines.push({ msg, ...fields });
    let current = answer();
    const watch = createServiceStateLog({
      read: () => current,
      logger: { info: log, warn: log } as unknown as Logger,
      clock,
    });
    onTestFinished(async () => await watch.stop());
    watch.start();
    await clock.advance(1000);
    const withdrawn = {
      ...current.channels.localized,
      state: 'withdrawn',
      reason: 'NothingPublished',
    } as const;
    current = { ...current, channels: { ...current.channels, localized: withdrawn } };
    await clock.advance(1000);
    current = answer({ code: 'volume_full', message: 'full', since: null, next_try: null });
    await clock.advance(2000);
    expect(lines).toMatchObject([
      { msg: 'state of the service changed', state: 'healthy', before: null, localized_before: null },
      { msg: 'state of a channel changed', channel: 'localized', state: 'withdrawn', before: 'unpublished' },
      {
        msg: 'state of the service changed',
        state: 'degraded',
        before: 'healthy',
        localized_state: 'unpublished',
        localized_before: 'withdrawn',
      },
    ]);
    expect(lines).toHaveLength(3);
  });
});

describe('the times of the state', () => {
  function told(code: DaemonCondition['code'], since: number | null): DaemonCondition {
    return { code, message: code, since, next_try: null };
  }

  it('tells since when state and reason are as they are, not since when the release is served', () => {
    const note = createStateTimes();
    const since = (now: number, ...conditions: readonly DaemonCondition[]): number =>
      note(answer(...conditions), now).since;
    // The first look knows no change before it.
    expect(since(5000)).toBe(1000);
    expect(since(5001)).toBe(1000);
    // The cause began after the last look, so its time is the time of the change.
    expect(since(5010, told('volume_full', 5005))).toBe(5005);
    expect(since(5011, told('volume_full', 5006))).toBe(5005);
    // A cause that lasts longer, but was not the first one before.
    expect(since(5020, told('sync_failed', 400))).toBe(5020);
    // Healthy again, of the same verdict.
    expect(since(5030)).toBe(5030);
    expect(since(5031)).toBe(5030);
    // A cause of the future, of a clock that is ahead.
    expect(since(5040, told('volume_full', 9000))).toBe(5040);
  });

  it('tells the times of the channels apart from those of the service', () => {
    const note = createStateTimes();
    note(answer(), 5000);
    const { since, channels } = note(answer({ ...told('volume_full', null), channel: 'localized' }), 5010);
    expect([since, channels.official.since, channels.localized.since]).toEqual([1000, 1000, 2000]);
  });
});
