import { describe, expect, it } from 'vitest';
import { SERVICE_STATE_NAMES } from '../../../../src/domain/service-state/service-state.ts';
import { createMinuteRing } from '../../../../src/server/history/minute-ring.ts';

const NOW = 29_500_000;
const TRAFFIC = { requests: 3, serverErrors: 1, sentBytes: 100 };

describe('a ring of minutes', () => {
  it('adds the traffic of several processes in one minute', () => {
    const ring = createMinuteRing();
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
      const ring = createMinuteRing();
      for (const state of states) ring.addState(NOW, 'official', state);
      expect(ring.read(NOW, NOW + 1)[0]?.states).toEqual({ official: 'damaged', localized: null });
    }
  });

  it('orders every state: none is better than healthy', () => {
    for (const state of SERVICE_STATE_NAMES) {
      const ring = createMinuteRing();
      ring.addState(NOW, 'localized', 'healthy');
      ring.addState(NOW, 'localized', state);
      expect(ring.read(NOW, NOW + 1)[0]?.states.localized).toBe(state);
    }
  });

  it('tells a minute without a record from a quiet one', () => {
    const ring = createMinuteRing();
    ring.addTraffic(NOW, { requests: 0, serverErrors: 0, sentBytes: 0 });
    expect(ring.read(NOW - 1, NOW + 1).map((minute) => minute?.traffic?.requests ?? null)).toEqual([null, 0]);
  });

  it('forgets minutes of more than 24 hours ago', () => {
    const ring = createMinuteRing();
    ring.addTraffic(NOW, TRAFFIC);
    ring.addTraffic(NOW + 1439, TRAFFIC);
    expect(ring.read(NOW, NOW + 1)[0]).not.toBeNull();
    ring.addTraffic(NOW + 1440, TRAFFIC);
    const kept = ring.read(NOW, NOW + 1441);
    expect(kept.flatMap((minute) => minute?.minute ?? [])).toEqual([NOW + 1439, NOW + 1440]);
  });
});
