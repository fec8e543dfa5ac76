import type { BoundedAnswer } from '../daemon-client/bounded-answer.ts';
import type { ForwardedRead } from './report-forwarder.ts';

/** A read that is about to be forwarded for all who asked in this turn. */
interface Flight {
  readonly answer: Promise<BoundedAnswer>;
  readonly controller: AbortController;
  members: number;
}

/**
 * Lets those who ask for the same in the same turn of the event loop share one answer of the daemon. It is asked for
 * after the last of them came, so nobody gets anything older than his question. Many operators whose pages ask again
 * and again then cost the daemon little more than one; it is told the request id of the first of them.
 *
 * @param forward asks the daemon; its signal is aborted when all who share an answer have gone
 */
export function shareReads(
  forward: (read: ForwardedRead) => Promise<BoundedAnswer>,
): (read: ForwardedRead) => Promise<BoundedAnswer> {
  const open = new Map<string, Flight>();

  const begin = (key: string, read: ForwardedRead): Flight => {
    const controller = new AbortController();
    const { signal } = controller;
    const answer = new Promise<BoundedAnswer>((resolve, reject) => {
      setImmediate(() => {
        close(key, flight);
        if (signal.aborted) reject(signal.reason as Error);
        else resolve(forward({ ...read, signal }));
      });
    });
    const flight = { answer, controller, members: 0 };
    open.set(key, flight);
    return flight;
  };

  const close = (key: string, flight: Flight): void => {
    if (open.get(key) === flight) open.delete(key);
  };

  return async (read) => {
    const { signal } = read;
    const key = `${read.report}?${read.query.toString()}`;
    const flight = open.get(key) ?? begin(key, read);
    flight.members += 1;
    let leave = (): void => undefined;
    try {
      return await new Promise<BoundedAnswer>((resolve, reject) => {
        leave = () => {
          flight.members -= 1;
          if (flight.members === 0) {
            // Who asks later in this turn must not share what was given up.
            close(key, flight);
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
