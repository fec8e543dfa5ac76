import type { BoundedAnswer } from '../daemon-client/bounded-answer.ts';
import type { ForwardedRead } from './report-forwarder.ts';

/** Nobody notices it, and a daemon that hangs is asked again soon. */
const MAX_GATHER_MS = 50;
/** Turns of the event loop without anybody new after which the daemon is asked: those who were answered together ask again. */
const QUIET_TURNS = 2;

/** A read that is forwarded once for all who asked for it before that. */
interface Flight {
  readonly answer: Promise<BoundedAnswer>;
  readonly controller: AbortController;
  /** Who wait for the answer. */
  members: number;
  /** Who ever did. */
  joined: number;
}

/** Those who ask for one thing. */
interface Readers {
  /** Not forwarded yet: whoever asks now joins. */
  gathering: Flight | null;
  /** Settles with the answer to the last one that was forwarded. */
  underWay: Promise<unknown> | null;
}

/**
 * Lets those who ask for the same share one answer of the daemon: they gather while the one before them is answered and
 * as long as more of them come, for a short time at most. The daemon is asked after the last of them came, so
 * nobody gets anything older than his question. Many operators whose pages ask again and again then cost the daemon
 * little more than one; it is told the request id of the first of them.
 *
 * @param forward asks the daemon; its signal is aborted when all who share an answer have gone
 * @param maxGatherMs longest that those who ask first wait for others, milliseconds
 */
export function shareReads(
  forward: (read: ForwardedRead) => Promise<BoundedAnswer>,
  maxGatherMs = MAX_GATHER_MS,
): (read: ForwardedRead) => Promise<BoundedAnswer> {
  const all = new Map<string, Readers>();

  const gather = async ({ underWay }: Readers, joined: () => number): Promise<void> => {
    const late = new AbortController();
    const timer = setTimeout(() => {
      late.abort();
    }, maxGatherMs);
    const isLate = new Promise((resolve) => {
      late.signal.addEventListener('abort', resolve);
    });
    await Promise.race([underWay, isLate]);
    for (let quiet = 0; quiet < QUIET_TURNS && !late.signal.aborted;) {
      const before = joined();
      await nextTurn();
      quiet = joined() === before ? quiet + 1 : 0;
    }
    clearTimeout(timer);
  };

  const begin = (key: string, readers: Readers, read: ForwardedRead): Flight => {
    const controller = new AbortController();
    const { signal } = controller;
    const fly = async (): Promise<BoundedAnswer> => {
      let underWay: Promise<unknown> | null = null;
      try {
        await gather(readers, () => flight.joined);
        close(readers, flight);
        signal.throwIfAborted();
        const answer = forward({ ...read, signal });
        underWay = answer.catch(() => undefined);
        readers.underWay = underWay;
        return await answer;
      } finally {
        if (readers.underWay === underWay) readers.underWay = null;
        const isOver = readers.underWay === null && readers.gathering === null;
        if (isOver && all.get(key) === readers) all.delete(key);
      }
    };
    const flight: Flight = { answer: fly(), controller, members: 0, joined: 0 };
    readers.gathering = flight;
    return flight;
  };

  return async (read) => {
    const { signal } = read;
    const key = `${read.report}?${read.query.toString()}`;
    const readers = all.get(key) ?? { gathering: null, underWay: null };
    all.set(key, readers);
    const flight = readers.gathering ?? begin(key, readers, read);
    flight.members += 1;
    flight.joined += 1;
    let leave = (): void => undefined;
    try {
      return await new Promise<BoundedAnswer>((resolve, reject) => {
        leave = () => {
          flight.members -= 1;
          if (flight.members === 0) {
            // Who asks later must not share what was given up.
            close(readers, flight);
            flight.controller.abort(signal.reason);
          }
          reject(signal.reason as Error);
        };
        flight.answer.then(resolve, reject);
        if (signal.aborted) leave();
        else signal.addEventListener('abort', leave);
      });
    } finally {
      signal.removeEventListener('abort', leave);
    }
  };
}

function close(readers: Readers, flight: Flight): void {
  if (readers.gathering === flight) readers.gathering = null;
}

async function nextTurn(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}
