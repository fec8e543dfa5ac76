import type { BoundedAnswer } from '../../daemon-client/bounded-answer.ts';
import type { ForwardedRead } from './report-forwarder.ts';

/** Nobody notices it, and a daemon that hangs is asked again soon. */
const MAX_GATHER_MS = 50;
/** Turns of the event loop without anybody new after which nobody else is expected. */
const QUIET_TURNS = 2;

/** A read that is forwarded once for all who asked for it before that. */
interface Flight {
  readonly answer: Promise<BoundedAnswer>;
  readonly controller: AbortController;
  /** Who wait for the answer. */
  members: number;
  /** Who ever did. */
  joined: number;
  /** Called when as many have joined as are expected. */
  onFull: () => void;
}

/** Those who ask for one thing. */
interface Readers {
  /** Not forwarded yet: whoever asks now joins. */
  gathering: Flight | null;
  /** Settles with the answer to the last one that was forwarded. */
  underWay: Promise<unknown> | null;
  /** How many shared the last one: those who were answered together ask again together. */
  expected: number;
  /** Ends the memory of them when nobody has asked for a while. */
  forget: NodeJS.Timeout | null;
}

/**
 * Lets those who ask for the same share one answer of the daemon: they gather while the one before them is answered, and
 * until as many have come as shared that one, for a short time at most; a reader alone waits for nobody. The daemon is asked
 * after the last of them came, so nobody gets anything older than his question. Many operators whose pages ask again
 * and again then cost the daemon little more than one; it is told the request id of the first of them.
 *
 * @param forward asks the daemon; its signal is aborted when all who share an answer have gone
 * @param maxGatherMs longest that those who ask first wait for others, and that their number is remembered, milliseconds
 */
export function shareReads(
  forward: (read: ForwardedRead) => Promise<BoundedAnswer>,
  maxGatherMs = MAX_GATHER_MS,
): (read: ForwardedRead) => Promise<BoundedAnswer> {
  const all = new Map<string, Readers>();

  const readersOf = (key: string): Readers => {
    const known = all.get(key);
    if (known !== undefined) return known;
    const readers: Readers = { gathering: null, underWay: null, expected: 1, forget: null };
    all.set(key, readers);
    return readers;
  };

  const forgetLater = (key: string, readers: Readers): void => {
    const forget = (): void => {
      if (readers.underWay === null && readers.gathering === null) all.delete(key);
    };
    if (readers.forget === null) readers.forget = setTimeout(forget, maxGatherMs).unref();
    else readers.forget.refresh();
  };

  const gather = async (readers: Readers, flight: Flight): Promise<void> => {
    const late = new AbortController();
    const timer = setTimeout(() => {
      late.abort();
    }, maxGatherMs);
    const isLate = new Promise((resolve) => {
      late.signal.addEventListener('abort', resolve);
    });
    await Promise.race([readers.underWay, isLate]);
    if (flight.joined < readers.expected) {
      const isFull = new Promise<void>((resolve) => {
        flight.onFull = resolve;
      });
      await Promise.race([isFull, isLate]);
    }
    for (let quiet = 0; quiet < QUIET_TURNS && !late.signal.aborted;) {
      const before = flight.joined;
      await nextTurn();
      quiet = flight.joined === before ? quiet + 1 : 0;
    }
    clearTimeout(timer);
  };

  const begin = (key: string, readers: Readers, read: ForwardedRead): Flight => {
    const controller = new AbortController();
    const { signal } = controller;
    const fly = async (): Promise<BoundedAnswer> => {
      let underWay: Promise<unknown> | null = null;
      try {
        await nextTurn();
        await gather(readers, flight);
        close(readers, flight);
        signal.throwIfAborted();
        readers.expected = flight.joined;
        const answer = forward({ ...read, signal });
        underWay = answer.catch(() => undefined);
        readers.underWay = underWay;
        return await answer;
      } finally {
        if (readers.underWay === underWay) readers.underWay = null;
        forgetLater(key, readers);
      }
    };
    const flight: Flight = {
      answer: fly(),
      controller,
      members: 0,
      joined: 0,
      onFull: () => undefined,
    };
    readers.gathering = flight;
    return flight;
  };

  return async (read) => {
    const { signal } = read;
    const key = `${read.report}?${read.query.toString()}`;
    const readers = readersOf(key);
    const flight = readers.gathering ?? begin(key, readers, read);
    flight.members += 1;
    flight.joined += 1;
    if (flight.joined >= readers.expected) flight.onFull();
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
