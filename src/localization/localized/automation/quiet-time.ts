import type { Clock } from '../../../platform/process/clock.ts';
import { createLoop } from '../../../platform/process/loop.ts';

/** Work that follows changes once they have ended. */
interface QuietTime {
  note(): void;
  isPending(): boolean;
  stop(): Promise<void>;
}

interface QuietTimeOptions {
  readonly clock: Clock;
  readonly quietMs: number;
  /** Milliseconds after the first change at which the work begins although changes continue. */
  readonly mostMs: number;
  readonly work: () => Promise<void>;
}

/** Waits for the end of changes, such as of an editor that stores while somebody types, and then works once for all of them. */
export function createQuietTime({ clock, quietMs, mostMs, work }: QuietTimeOptions): QuietTime {
  let pending: { readonly first: number; last: number } | null = null;
  const loop = createLoop({
    clock,
    turn: async () => {
      if (pending === null) return Infinity;
      const left = Math.min(pending.last + quietMs, pending.first + mostMs) - clock.monotonic();
      if (left > 0) return left;
      pending = null;
      await work();
      return 0;
    },
    onFailure: () => Infinity,
  });
  loop.start();
  return {
    note: () => {
      const now = clock.monotonic();
      if (pending === null) {
        pending = { first: now, last: now };
        loop.wake();
      } else {
        pending.last = now;
      }
    },
    isPending: () => pending !== null,
    stop: async () => {
      pending = null;
      await loop.stop();
    },
  };
}
