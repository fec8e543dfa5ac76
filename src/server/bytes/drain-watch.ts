import type { Clock } from '../../platform/process/clock.ts';
import { takenBytes, type ByteResponse } from './outflow.ts';

const CHECKS_PER_WINDOW = 6;
// The kernel takes up to some megabytes in one step and then nothing until the client has drained a good part of them.
// A slow but honest client must survive such a step.
const MOST_PATIENCE_WINDOWS = 4;

export interface DrainWatchOptions {
  readonly clock: Clock;
  readonly minimumBytesPerSecond: number;
  readonly windowMs: number;
}

/** A response in progress. */
export type WatchedResponse = Pick<ByteResponse, 'socket' | 'closed' | 'once'>;

/** Watches that clients take the bytes of their responses. */
export interface DrainWatch {
  /**
   * Watches a response until it is closed.
   *
   * @param onStalled called once when the client took too few bytes for too long
   */
  watch(response: WatchedResponse, onStalled: () => void): void;
  /** Number of responses watched now. */
  readonly watched: number;
  /** Stops watching all responses. */
  close(): void;
}

interface Watched {
  readonly response: WatchedResponse;
  readonly onStalled: () => void;
  /** Milliseconds without a byte before the client counts as stalled. */
  patience: number;
  checkedAt: number;
  taken: number;
}

/**
 * Makes a watch with one timer, which runs only while there are responses to watch.
 *
 * A response starts with a patience of one window. Time uses it up; bytes taken renew it at the minimum rate, up to a
 * few windows. So a client below the minimum rate is eventually cut off, and a stalled client within a few windows.
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
      // Without a socket the response waits behind another one on the same connection, and that one is watched.
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
      // Closing the watch also ends the loop, by aborting the sleep.
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
