import type { Clock } from './clock.ts';
import { pause } from './pause.ts';

/** Background work that takes turns until it is stopped. */
export interface Loop {
  /** Begins the first turn, or the wait before it. */
  start(): void;
  /** Begins the next turn now instead of after the wait; after the turn in progress if there is one. */
  wake(): void;
  /** Begins no further turn. Resolves when the turn in progress has ended. */
  stop(): Promise<void>;
}

interface LoopOptions {
  readonly clock: Clock;
  /** Milliseconds from `start` to the first turn; default 0. */
  readonly firstWaitMs?: number;
  /**
   * Takes one turn.
   *
   * @param signal aborted by `stop`
   * @returns milliseconds to wait before the next turn; `Infinity` waits for `wake`
   */
  readonly turn: (signal: AbortSignal) => number | Promise<number>;
  /**
   * Handles the error of a turn that failed before the loop was stopped.
   *
   * @returns milliseconds to wait before the next turn
   */
  readonly onFailure: (error: unknown) => number;
}

/** The longest wait of a Node timer, in milliseconds: about 24 days. */
const MAX_WAIT_MS = 2 ** 31 - 1;

/** Creates a loop. It takes no turn before `start`. */
export function createLoop({ clock, firstWaitMs = 0, turn, onFailure }: LoopOptions): Loop {
  const stopping = new AbortController();
  let waiting = new AbortController();
  let running: Promise<void> = Promise.resolve();

  const takeTurn = async (): Promise<number> => {
    try {
      return await turn(stopping.signal);
    } catch (error) {
      return stopping.signal.aborted ? 0 : onFailure(error);
    }
  };

  const wait = async (ms: number): Promise<void> => {
    // Only `wake` and `stop` end it early.
    let left = ms;
    do {
      await pause(clock, Math.min(left, MAX_WAIT_MS), waiting.signal);
      left -= MAX_WAIT_MS;
    } while (left > 0 && !waiting.signal.aborted);
  };

  const run = async (): Promise<void> => {
    if (firstWaitMs > 0) await wait(firstWaitMs);
    while (!stopping.signal.aborted) {
      // Created before the turn, so that a call of `wake` during the turn ends the wait after it.
      waiting = new AbortController();
      const ms = await takeTurn();
      if (!stopping.signal.aborted) await wait(ms);
    }
  };

  return {
    start: () => {
      running = run();
    },
    wake: () => waiting.abort(),
    stop: async () => {
      stopping.abort(new Error('the loop is stopped'));
      waiting.abort();
      await running;
    },
  };
}
