import { describe, expect, it } from 'vitest';
import { createTabs, type Tabs } from '../../../src/console/api/tabs.ts';

/** The locks of a browser: the next request in the queue runs when the previous one has ended. */
function browserLocks() {
  const queues = new Map<string, Promise<unknown>>();
  const ends = new Map<string, () => void>();
  const of = (tab: string): Pick<LockManager, 'request'> => ({
    request: async (name: string, run: unknown) => {
      const before = queues.get(name) ?? Promise.resolve();
      const { promise: closed, resolve } = Promise.withResolvers<void>();
      if (!ends.has(tab)) ends.set(tab, resolve);
      const turn = before.then(async () => await Promise.race([closed, (run as () => unknown)()]));
      queues.set(name, turn);
      await turn;
    },
  });
  return { of, end: (tab: string) => ends.get(tab)?.() };
}

function memory(): Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> {
  const items = new Map<string, string>();
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
  };
}

describe('the tabs of a browser', () => {
  it('learn when another one has ended, one after another', async () => {
    const locks = browserLocks();
    const make = (own: string): Tabs =>
      createTabs({ own, locks: locks.of(own), storage: memory, events: new EventTarget() as Window });
    make('a');
    const told: string[] = [];
    for (const own of ['b', 'c']) {
      const tabs = make(own);
      tabs.whenEnded('a', () => told.push(own));
      tabs.whenEnded(own, () => told.push('itself'));
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(told).toEqual([]);
    locks.end('a');
    await new Promise((resolve) => setImmediate(resolve));
    expect(told).toEqual(['b', 'c']);
  });

  it('know it without locks, too, from tabs that close and from those that fall silent', () => {
    const storage = memory();
    let now = 0;
    const beats: Array<() => void> = [];
    const make = (own: string): { tabs: Tabs; events: EventTarget; beat: () => void } => {
      const events = new EventTarget();
      const tabs = createTabs({
        own,
        locks: undefined,
        storage: () => storage,
        events: events as Window,
        now: () => now,
        timers: { setInterval: ((run: () => void) => beats.push(run)) as unknown as typeof setInterval },
      });
      return { tabs, events, beat: beats.at(-1) ?? (() => undefined) };
    };
    const [closed, silent, own] = [make('closed'), make('silent'), make('own')];
    const told: string[] = [];
    for (const tab of ['closed', 'silent', 'own']) own.tabs.whenEnded(tab, () => told.push(tab));
    own.beat();
    expect(told).toEqual([]);
    closed.events.dispatchEvent(new Event('pagehide'));
    now = 100_000;
    silent.beat();
    own.beat();
    expect(told).toEqual(['closed']);
    now = 300_000;
    own.beat();
    expect(told).toEqual(['closed', 'silent']);
  });
});
