import type { Clock } from '../../platform/process/clock.ts';
import { pause } from '../../platform/process/pause.ts';
import type { Logger } from '../../platform/logging/logging.ts';

/** Milliseconds between two attempts to recover. */
const RETRY_MS = 10_000;

export interface RecoveryRun {
  /** Resolves after the first attempt; after a failure it keeps retrying. `onDone` is called once, on success. */
  start(onDone: () => void): Promise<void>;
  /** Resolves when the recovery has succeeded; rejects with the signal's reason. */
  done(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

export function createRecoveryRun(
  recover: (signal: AbortSignal) => Promise<void>,
  clock: Clock,
  logger: Logger,
): RecoveryRun {
  const stopping = new AbortController();
  const complete = Promise.withResolvers<void>();
  let background: Promise<void> = Promise.resolve();

  const attempt = async (onDone: () => void): Promise<boolean> => {
    try {
      await recover(stopping.signal);
    } catch (error) {
      if (stopping.signal.aborted) return true;
      logger.error({ err: error }, 'the releases could not be recovered; nothing is attested; retrying');
      return false;
    }
    onDone();
    complete.resolve();
    return true;
  };

  const retryUntilDone = async (onDone: () => void): Promise<void> => {
    while (!stopping.signal.aborted) {
      await pause(clock, RETRY_MS, stopping.signal);
      if (stopping.signal.aborted || (await attempt(onDone))) return;
    }
  };

  return {
    start: async (onDone) => {
      if (!(await attempt(onDone))) background = retryUntilDone(onDone);
    },
    done: async (signal) => {
      signal.throwIfAborted();
      const aborted = Promise.withResolvers<never>();
      const onAbort = (): void => {
        aborted.reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        await Promise.race([complete.promise, aborted.promise]);
      } finally {
        signal.removeEventListener('abort', onAbort);
      }
    },
    stop: async () => {
      stopping.abort();
      await background;
    },
  };
}
