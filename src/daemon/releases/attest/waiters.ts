import type { Clock } from '../../../platform/process/clock.ts';
import { pause } from '../../../platform/process/pause.ts';

/** Lets callers wait until a value changes. */
export interface Waiters {
  /** Wakes all waiting callers. */
  notify(): void;
  /** Resolves at the next `notify`, after `timeoutMs`, or when the signal is aborted; never rejects. */
  wait(timeoutMs: number, signal: AbortSignal): Promise<void>;
}

/** Creates an empty set of waiters. */
export function createWaiters(clock: Clock): Waiters {
  const waiting = new Set<() => void>();
  return {
    notify: () => {
      for (const wake of waiting) wake();
    },
    wait: async (timeoutMs, signal) => {
      if (signal.aborted) return;
      const woken = new AbortController();
      const wake = (): void => {
        woken.abort();
      };
      waiting.add(wake);
      try {
        await pause(clock, timeoutMs, AbortSignal.any([signal, woken.signal]));
      } finally {
        waiting.delete(wake);
      }
    },
  };
}
