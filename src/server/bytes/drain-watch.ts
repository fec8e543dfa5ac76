import type { Clock } from '../../platform/process/clock.ts';
import { takenBytes, type ByteResponse } from './outflow.ts';

const CHECKS_PER_WINDOW = 6;
// The kernel takes bytes in steps of up to some megabytes and then none until the client has drained a good part of
// them; a slow but honest client must outlast such a step.
const MOST_PATIENCE_WINDOWS = 4;

export interface DrainWatchOptions {
  readonly clock: Clock;
  readonly minimumBytesPerSecond: number;
  readonly windowMs: number;
}

/** A response in progress. */
export type WatchedResponse = Pick<ByteResponse, 'socket' | 'closed' | 'once'>;

/** Watches that clients take what they asked for. */
export interface DrainWatch {
  /**
   * Watches a response until it is closed.
   *
   * @param onStalled called once when too few bytes were taken for too long
   */
  watch(response: WatchedResponse, onStalled: () => void): void;
  /** Responses watched now. */
  readonly watched: number;
  /** Ends all watching. */
  close(): void;
}

interface Watched {
  readonly response: WatchedResponse;
  readonly onStalled: () => void;
  /** Milliseconds that may still pass without a byte. */
  patience: number;
  checkedAt: number;
  taken: number;
}

/**
 * Makes a watch whose one timer runs only while there is something to watch.
 *
 * A response begins with the patience of one window. Time uses it up; bytes taken renew it at the minimum rate, up to
 * a few windows. So whoever takes less than the minimum rate is cut off in the end, and a stalled client within a few
 * windows.
 */
export function createDrainWatch({ clock, minimumBytesPerSecond, windowMs }: DrainWatchOptions): DrainWatch {
  const watched = new Set<Watched>();
  const stopped = new AbortController();
  let running = false;

  const check = (): void => {
    const now = clock.monotonic();
    for (const item of watched) {
      const { socket } = item.response;
      const passed = now - item.checkedAt;
      item.checkedAt = now;
      // Without a socket it waits for its turn behind another answer on the same connection; that one is watched.
      if (socket === null) continue;
      const taken = takenBytes(socket);
      const earned = ((taken - item.taken) * 1000) / minimumBytesPerSecond;
      item.taken = taken;
      item.patience = Math.min(item.patience + earned - passed, windowMs * MOST_PATIENCE_WINDOWS);
      if (item.patience > 0) continue;
      watched.delete(item);
      item.onStalled();
    }
  };

  const run = async (): Promise<void> => {
    try {
      while (watched.size > 0) {
        await clock.sleep(windowMs / CHECKS_PER_WINDOW, stopped.signal);
        check();
      }
    } catch (error) {
      // The only way out of the loop but the last response: the watch was closed.
      if (!stopped.signal.aborted) throw error;
    } finally {
      running = false;
    }
  };

  return {
    watch: (response, onStalled) => {
      if (response.closed || stopped.signal.aborted) return;
      const { socket } = response;
      const item: Watched = {
        response,
        onStalled,
        patience: windowMs,
        checkedAt: clock.monotonic(),
        taken: socket === null ? 0 : takenBytes(socket),
      };
      watched.add(item);
      response.once('close', () => watched.delete(item));
      if (running) return;
      running = true;
      void run();
    },
    get watched() {
      return watched.size;
    },
    close: () => {
      stopped.abort();
      watched.clear();
    },
  };
}
