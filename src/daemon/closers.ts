import type { Logger } from '../platform/logging/logging.ts';

/** Closes one part of the daemon. It waits no longer than until the signal is aborted. */
export type Close = (signal?: AbortSignal) => Promise<void> | void;

/** The parts that are open. */
export interface Closers {
  add(part: string, close: Close): void;
  /**
   * Closes every part, newest first. Continues when one fails.
   *
   * @throws AggregateError with every failure
   */
  closeAll(signal?: AbortSignal): Promise<void>;
}

/** Creates an empty list of parts. */
export function createClosers(logger: Logger): Closers {
  const open: Array<readonly [string, Close]> = [];
  return {
    add: (part, close) => {
      open.push([part, close]);
    },
    closeAll: async (signal) => {
      const failures: unknown[] = [];
      for (const [part, close] of open.splice(0).toReversed()) {
        try {
          await close(signal);
        } catch (error) {
          logger.error({ err: error, part }, 'a part could not be closed cleanly');
          failures.push(error);
        }
      }
      if (failures.length > 0) throw new AggregateError(failures, 'the daemon could not be stopped cleanly');
    },
  };
}
