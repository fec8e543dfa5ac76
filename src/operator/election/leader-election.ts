import type { Clock } from '../../platform/process/clock.ts';
import { pause } from '../../platform/process/pause.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import { hasStatus } from '../../platform/kubernetes/kubernetes-error.ts';
import { LeadershipLost, type Leadership } from './leadership.ts';
import { createLeaseHolder, type LeaseHolder, type LeaseHolderOptions } from './lease-holder.ts';

export interface LeaderElection extends Leadership {
  start(): void;
  /** Milliseconds since the last finished attempt. A large value means that the loop is stuck. */
  sinceAttempt(): number;
  /** Stops, and releases the lease so that another process need not wait for it. */
  stop(): Promise<void>;
}

/**
 * Makes an election on a Lease. A holder that cannot renew stops acting after `renewSeconds`, counted from the moment it
 * sent its last successful renewal. Others take the lease no sooner than `leaseSeconds` after they saw it change last.
 * Both are measured on each process's own monotonic clock, so clocks that differ do not matter.
 *
 * Source: client-go tools/leaderelection.
 */
export function createLeaderElection(
  options: LeaseHolderOptions & {
    readonly logger: Logger;
    readonly onElected: () => void;
    /** The lease is lost: the process must end without acting anymore. */
    readonly onLost: () => void;
  },
): LeaderElection {
  const { identity, timing, clock, logger } = options;
  const lease = options.name;
  const holder = createLeaseHolder(options);
  const stopping = new AbortController();
  const lost = new AbortController();
  let attemptedAt = clock.monotonic();
  let loop: Promise<void> = Promise.resolve();
  let reported: string | null = null;

  const isHeld = (): boolean => holder.isHeld() && !lost.signal.aborted;

  const report = (error: unknown): void => {
    const isForbidden = hasStatus(error, 403);
    const problem = isForbidden
      ? 'no permission on leases: grant the operator get, create and update on them'
      : 'the lease cannot be read or renewed';
    if (reported !== problem) logger[isForbidden ? 'error' : 'warn']({ err: error }, problem);
    reported = problem;
  };

  /** @returns whether the API server answered the attempt */
  const attempt = async (): Promise<boolean> => {
    const wasHeld = holder.wasHeld();
    try {
      await holder.attempt(stopping.signal);
      reported = null;
    } catch (error) {
      if (!stopping.signal.aborted) report(error);
      return false;
    } finally {
      attemptedAt = clock.monotonic();
    }
    if (!wasHeld && holder.wasHeld()) {
      logger.info({ lease, identity }, 'elected: this process leads');
      options.onElected();
    }
    return true;
  };

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      // Checked first: a process that was stopped for a while wakes up here.
      if (holder.wasHeld() && !isHeld()) {
        lost.abort(new LeadershipLost());
        logger.error({ lease }, 'the lease is lost: this process stops acting and ends');
        options.onLost();
        return;
      }
      const isAnswered = await attempt();
      if (holder.wasHeld() && !isHeld()) continue;
      const now = clock.monotonic();
      // A waiting process wakes when the lease it has seen expires.
      const deadline = holder.wasHeld() ? holder.heldUntil() : holder.freeAt();
      const retryAt = now + timing.retrySeconds * 1000;
      const wake = isAnswered && deadline > now ? Math.min(deadline, retryAt) : retryAt;
      await pause(clock, Math.max(0, wake - now), stopping.signal);
    }
  };

  return {
    isHeld,
    act: async (effect) => {
      if (!isHeld()) throw new LeadershipLost();
      return await actWhileHeld(holder, clock, lost.signal, effect);
    },
    start: () => {
      loop = run();
    },
    sinceAttempt: () => clock.monotonic() - attemptedAt,
    stop: async () => {
      stopping.abort(new Error('the election is left'));
      await loop;
      try {
        if (!lost.signal.aborted && (await holder.release())) logger.info({ lease }, 'the lease is released');
      } catch (error) {
        logger.warn({ err: error }, 'cannot release the lease; it expires automatically');
      }
    },
  };
}

async function actWhileHeld<T>(
  holder: LeaseHolder,
  clock: Clock,
  lost: AbortSignal,
  effect: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const expired = new AbortController();
  const done = new AbortController();
  const guard = async (): Promise<void> => {
    // The deadline moves with every renewal.
    while (holder.isHeld()) await clock.sleep(holder.heldUntil() - clock.monotonic(), done.signal);
    expired.abort(new LeadershipLost());
  };
  guard().catch(() => undefined);
  try {
    return await effect(AbortSignal.any([lost, expired.signal]));
  } finally {
    done.abort();
  }
}
