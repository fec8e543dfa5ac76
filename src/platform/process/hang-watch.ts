import type { Logger } from '../logging/logging.ts';
import type { Clock } from './clock.ts';
import { createLoop, type Loop } from './loop.ts';

/** Milliseconds between two pings of a process, and how many it may leave unanswered. */
const PING_MS = 5_000;
const MAX_UNANSWERED = 6;
/** The same for a process that starts, waits as a standby or recovers: a new schema of a large database blocks for long. */
const MAX_UNANSWERED_AT_START = 60;

export interface WatchedProcess {
  /** Number of pings since its last message; its owner sets it to 0 with each message. */
  unanswered: number;
}

interface HangWatchOptions<Watched extends WatchedProcess> {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns the processes that must answer now. */
  readonly watched: () => readonly Watched[];
  /** Whether a process has not completed its start, which may block for longer; default: no process. */
  readonly isStarting?: (process: Watched) => boolean;
  readonly ping: (process: Watched) => void;
  readonly kill: (process: Watched) => void;
}

/** Creates the watch that finds processes whose event loop is blocked. It pings them from `start` to `stop`. */
export function createHangWatch<Watched extends WatchedProcess>(options: HangWatchOptions<Watched>): Loop {
  return createLoop({
    clock: options.clock,
    firstWaitMs: PING_MS,
    turn: () => {
      for (const process of options.watched()) {
        const isStarting = options.isStarting?.(process) ?? false;
        if (process.unanswered >= (isStarting ? MAX_UNANSWERED_AT_START : MAX_UNANSWERED)) {
          options.kill(process);
          continue;
        }
        // Counted, not timed: when all processes were suspended together, none of them hangs.
        process.unanswered += 1;
        options.ping(process);
      }
      return PING_MS;
    },
    onFailure: (error) => {
      options.logger.error({ err: error }, 'the processes could not be pinged; trying again');
      return PING_MS;
    },
  });
}
