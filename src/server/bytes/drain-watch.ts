import type { Clock } from '../../platform/process/clock.ts';
import { takenBytes, type ByteResponse } from './outflow.ts';
import { readSendQueues, type SendQueues } from './send-queues.ts';

const CHECKS_PER_WINDOW = 30;
/** The share of a window after which the watch looks at bytes that the system still holds. */
const SUSPICIOUS = 1 / 6;
/** Windows without a byte taken, if the system does not tell whether the client acknowledges bytes. */
const BLIND_WINDOWS = 4;
/** Windows in which the volume must give more bytes of a response that has begun. */
const VOLUME_WINDOWS = 4;

/** The side that stalls a response. */
export type StalledSide = 'client' | 'volume';

/** Watches that clients take the bytes of their responses, and that the volume gives them. */
export interface DrainWatch {
  /**
   * Watches a response until it is closed.
   *
   * @param onStalled called once: with `client` when the client took too few of the bytes offered to it for too long,
   *   with `volume` when the volume gave no first bytes for a window, or no more bytes for four windows
   */
  watch(response: ByteResponse, onStalled: (side: StalledSide) => void): void;
  /** Number of responses watched now. */
  readonly watched: number;
  /** Stops watching all responses. */
  close(): void;
}

/** The side and the bytes that a response waits for: the first bytes of the volume, more bytes of it, or the client. */
type Awaited = 'first bytes' | 'more bytes' | 'client';

interface Watched {
  readonly response: ByteResponse;
  readonly onStalled: (side: StalledSide) => void;
  /** When the window began. */
  awaited: Awaited;
  /** Monotonic milliseconds. */
  windowBegan: number;
  /** Bytes taken from the socket when the window began. */
  taken: number;
  /** Bytes that the client had acknowledged early in the window; `null` before they were read. */
  acknowledged: number | 'unknown' | null;
}

interface DrainWatchOptions {
  readonly clock: Clock;
  readonly minimumBytesPerSecond: number;
  /** Milliseconds in which a client must take its share. */
  readonly windowMs: number;
  /** Reads the send queues of the system; default: those of this machine. */
  readonly readQueues?: () => SendQueues;
}

/**
 * Makes a watch with one timer, which runs only while there are responses to watch.
 *
 * In each window a client must take the bytes that the minimum rate gives in that time. A window counts only while bytes
 * are offered to the client, so the wait for a slow volume does not count. A volume has a bound of its own. The system buffers megabytes and
 * takes more only when a good part of them has gone, so a slow client can take nothing for longer than a window. Its
 * acknowledgements show then that it still reads.
 */
export function createDrainWatch(options: DrainWatchOptions): DrainWatch {
  const { clock, minimumBytesPerSecond, windowMs, readQueues = readSendQueues } = options;
  const watched = new Set<Watched>();
  const stopped = new AbortController();
  const share = (minimumBytesPerSecond * windowMs) / 1000;
  let running = false;

  const check = (): void => {
    const now = clock.monotonic();
    let queues: SendQueues | null = null;
    for (const item of watched) {
      const { socket } = item.response;
      const taken = socket === null ? 0 : takenBytes(socket);
      const waitedMs = now - item.windowBegan;
      const awaited = awaitedBy(item.response);
      const progress = awaited === 'client' ? share : 1;
      // Without a socket the response waits behind another one on the same connection, and that one is watched.
      if (socket === null || awaited !== item.awaited || taken - item.taken >= progress) {
        Object.assign(item, { awaited, windowBegan: now, taken, acknowledged: null });
        continue;
      }
      if (awaited !== 'client') {
        if (waitedMs < windowMs * (awaited === 'first bytes' ? 1 : VOLUME_WINDOWS)) continue;
        watched.delete(item);
        item.onStalled('volume');
        continue;
      }
      const { acknowledged: before } = item;
      if (waitedMs < (before === null ? windowMs * SUSPICIOUS : windowMs)) continue;
      if (before === 'unknown' && waitedMs < windowMs * BLIND_WINDOWS) continue;
      const queue = (queues ??= readQueues())(socket);
      const acknowledged = queue === null ? 'unknown' : taken - queue;
      if (before === null) {
        item.acknowledged = acknowledged;
      } else if (before !== 'unknown' && acknowledged !== 'unknown' && acknowledged - before >= share) {
        Object.assign(item, { windowBegan: now, taken, acknowledged });
      } else {
        watched.delete(item);
        item.onStalled('client');
      }
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
        awaited: awaitedBy(response),
        windowBegan: clock.monotonic(),
        taken: socket === null ? 0 : takenBytes(socket),
        acknowledged: null,
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

function awaitedBy({ socket, headersSent }: ByteResponse): Awaited {
  if (!headersSent) return 'first bytes';
  return socket !== null && socket.writableLength > 0 ? 'client' : 'more bytes';
}
