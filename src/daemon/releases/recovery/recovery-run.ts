import type { Clock } from '../../../platform/process/clock.ts';
import { pause } from '../../../platform/process/pause.ts';
import type { Logger } from '../../../platform/logging/logging.ts';
import type { Job } from '../../tasks/job.ts';

/** Milliseconds between two attempts to recover. */
const RETRY_MS = 10_000;

/** The recovery at boot, retried until it succeeds. */
export interface RecoveryRun {
  /** Resolves after the first attempt; after a failure it keeps retrying. `onDone` is called once, on success. */
  start(onDone: () => void): Promise<void>;
  /** Resolves when the recovery has succeeded; rejects with the signal's reason. */
  done(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

/** Creates a recovery that has not started. */
export function createRecoveryRun(deps: {
  readonly recover: (signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}): RecoveryRun {
  const { clock, logger } = deps;
  const stopping = new AbortController();
  const complete = Promise.withResolvers<void>();
  let background: Promise<void> = Promise.resolve();

  const attempt = async (onDone: () => void): Promise<boolean> => {
    try {
      await deps.recover(stopping.signal);
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

/** Makes a job wait for the recovery, because a task of an earlier process may be due before the recovery is done. */
export function afterRecovery(job: Job, recovery: Pick<RecoveryRun, 'done'>): Job {
  return {
    ...job,
    run: async (context) => {
      await recovery.done(context.signal);
      return await job.run(context);
    },
  };
}
