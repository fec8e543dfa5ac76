import { HISTORY_MINUTES } from '../../contract/schemas/vocabulary.ts';
import { CHANNELS } from '../../domain/release/channel.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { createLoop, type Loop } from '../../platform/process/loop.ts';
import type { ReadServiceState } from '../service/service-state-reader.ts';
import { MinuteRing, type Minute, type Traffic } from './minute-ring.ts';
import type { ScrubPosition } from './scrub-reader.ts';

/** The traffic of one process in one minute, and its scrub. */
export interface MinuteOfProcess {
  readonly minute: number;
  readonly traffic: Traffic;
  /** `null` when it runs none. */
  readonly scrub: ScrubPosition | null;
}

/** The kept minutes of this server. */
export interface KeptMinutes {
  /** The first of {@link minutes}, Unix seconds. */
  readonly from: number;
  /** Complete minutes, oldest first; `null` for a minute without a record. */
  readonly minutes: readonly (Minute | null)[];
}

/** Collects and gives the history of this server. It is in memory and begins with the process. */
export interface ServerHistory {
  /** Records the state every second and the traffic every minute. */
  readonly loop: Loop;
  /** Records the state now, because it changed: it can change back before the next second. */
  noteState(): void;
  add(other: MinuteOfProcess): void;
  /** Reads the complete minutes of the last 24 hours. */
  read(): KeptMinutes;
  /** The scrub of this process, or the last known one of another process; `null` when no scrub is known to run. */
  scrub(): Promise<ScrubPosition | null>;
}

const LOOK_MS = 1000;

/** Creates the history; it collects nothing before its loop is started. */
export function createServerHistory(options: {
  readonly readState: ReadServiceState;
  readonly readTraffic: () => Promise<Traffic>;
  readonly readScrub: () => Promise<ScrubPosition | null>;
  readonly share: (own: MinuteOfProcess) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}): ServerHistory {
  const { readState, readTraffic, readScrub, share, clock, logger } = options;
  const ring = new MinuteRing();
  const thisMinute = (): number => Math.floor(clock.now() / 60_000);
  const first = thisMinute();
  let open = first;
  let complete = first;
  let scrubOfOther: ScrubPosition | null = null;

  const noteState = (): void => {
    const { channels } = readState();
    for (const channel of CHANNELS) ring.addState(thisMinute(), channel, channels[channel].state);
  };

  const endMinute = async (minute: number, next: number): Promise<void> => {
    open = next;
    try {
      const traffic = await readTraffic();
      ring.addTraffic(minute, traffic);
      share({ minute, traffic, scrub: await readScrub() });
    } finally {
      complete = next;
    }
  };

  return {
    loop: createLoop({
      clock,
      turn: async () => {
        const minute = thisMinute();
        if (minute !== open) await endMinute(open, minute);
        noteState();
        return LOOK_MS;
      },
      onFailure: (error) => {
        logger.warn({ err: error }, 'a minute of the history of the server is missing');
        return LOOK_MS;
      },
    }),
    noteState,
    add: ({ minute, traffic, scrub }) => {
      if (scrub !== null) scrubOfOther = scrub;
      // Another process can begin a minute a moment earlier or later than this one.
      if (Math.abs(thisMinute() - minute) <= 1) ring.addTraffic(minute, traffic);
    },
    read: () => {
      const from = Math.max(first, complete - HISTORY_MINUTES);
      return { from: from * 60, minutes: ring.read(from, complete) };
    },
    scrub: async () => (await readScrub()) ?? scrubOfOther,
  };
}
