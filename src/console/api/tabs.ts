/** The tabs of this browser that show the console: which of them have ended. */

import { attempt } from './attempt.ts';

export interface Tabs {
  readonly own: string;
  whenEnded(tab: string, run: () => void): void;
}

interface TabsParts {
  readonly own: string;
  readonly locks: LockManager | undefined;
  /** Throws when storage is switched off. */
  readonly storage: () => Storage;
  readonly events: Window;
  /** Unix milliseconds. */
  readonly now?: () => number;
  readonly timers?: typeof globalThis;
}

const PREFIX = 'slipway.tab.';
/** How often a tab without locks says that it lives, and when a silent one counts as ended, milliseconds. */
const BEAT_MS = 20_000;
const SILENT_MS = 180_000;

/** Enters this page as a tab. It leaves when it is closed, also when it crashes. */
export function createTabs(parts: TabsParts): Tabs {
  return parts.locks === undefined ? tabsByBeats(parts) : tabsByLocks(parts.own, parts.locks);
}

/** Each tab holds a lock as long as it lives. The browser gives the lock to the next one that waits for it. */
function tabsByLocks(own: string, locks: NonNullable<TabsParts['locks']>): Tabs {
  const asked = new Set<string>([own]);
  void locks.request(PREFIX + own, async () => await new Promise(() => undefined));
  return {
    own,
    whenEnded: (tab, run) => {
      if (asked.has(tab)) return;
      asked.add(tab);
      void locks.request(PREFIX + tab, () => {
        asked.delete(tab);
        run();
      });
    },
  };
}

function tabsByBeats({
  own,
  storage,
  events,
  now = Date.now,
  timers = globalThis,
}: Omit<TabsParts, 'locks'>): Tabs {
  const waiting = new Map<string, () => void>();
  const beat = (): void => {
    attempt(() => storage().setItem(PREFIX + own, String(now())));
    for (const [tab, run] of waiting) {
      if (isAlive(tab)) continue;
      waiting.delete(tab);
      attempt(() => storage().removeItem(PREFIX + tab));
      run();
    }
  };
  const isAlive = (tab: string): boolean => {
    const at = attempt(() => storage().getItem(PREFIX + tab)) ?? null;
    return at !== null && Math.abs(now() - Number(at)) <= SILENT_MS;
  };
  beat();
  timers.setInterval(beat, BEAT_MS);
  events.addEventListener('pagehide', () => attempt(() => storage().removeItem(PREFIX + own)));
  events.addEventListener('pageshow', beat);
  return {
    own,
    whenEnded: (tab, run) => {
      if (tab === own) return;
      waiting.set(tab, run);
      if (!isAlive(tab)) beat();
    },
  };
}
