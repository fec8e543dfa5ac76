import type { Logger } from '../platform/logging/logging.ts';

/** Closes one part of the daemon. It waits no longer than until the signal is aborted. */
type Close = (signal?: AbortSignal) => Promise<void> | void;

/** The parts that are open. */
export interface Closers {
  /** Adds a part. After `closeAll` began, the part is closed immediately: a start may still be in progress. */
  add(part: string, close: Close): void;
  /**
   * Closes every part, newest first, and those that are added meanwhile. Continues when one fails.
   *
   * @throws AggregateError with every failure
   */
  closeAll(signal?: AbortSignal): Promise<void>;
}

/** Creates an empty list of parts. */
export function createClosers(logger: Logger): Closers {
  const open: Array<readonly [string, Close]> = [];
  const failures: unknown[] = [];
  const late = new Set<Promise<void>>();
  let closing: { readonly signal: AbortSignal | undefined } | null = null;

  const closeOne = async (part: string, close: Close, signal: AbortSignal | undefined): Promise<void> => {
    try {
      await close(signal);
    } catch (error) {
      logger.error({ err: error, part }, 'a part could not be closed cleanly');
      failures.push(error);
    }
  };

  return {
    add: (part, close) => {
      if (closing === null) {
        open.push([part, close]);
        return;
      }
      const closed = closeOne(part, close, closing.signal).finally(() => late.delete(closed));
      late.add(closed);
    },
    closeAll: async (signal) => {
      closing = { signal };
      for (const [part, close] of open.splice(0).toReversed()) await closeOne(part, close, signal);
      while (late.size > 0) await Promise.all(late);
      if (failures.length > 0) throw new AggregateError(failures, 'the daemon could not be stopped cleanly');
    },
  };
}
