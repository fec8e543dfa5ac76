import type { Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { KubernetesClient } from '../kubernetes/kubernetes-client.ts';
import { hasStatus } from '../kubernetes/kubernetes-error.ts';
import { LeaseSchema, heldSpec, releasedSpec, type Lease } from './lease.ts';

/** The right to act. */
export interface Leadership {
  /** Whether this process may act at this instant. */
  isHeld(): boolean;
  /**
   * Does something that only the leader may do. The signal is aborted at the latest when the lease is no longer surely
   * ours, well before another process can take it.
   *
   * @throws LeadershipLost when it is not held now
   */
  act<T>(effect: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

/** This process does not lead, or no longer. */
export class LeadershipLost extends Error {
  constructor() {
    super('this process does not hold the lease');
    this.name = 'LeadershipLost';
  }
}

/** The times of an election. */
export interface ElectionTiming {
  /** How long a lease is good for after its last renewal, seconds. */
  readonly leaseSeconds: number;
  /** After how long without a renewal the holder stops acting, seconds; less than the lease. */
  readonly renewSeconds: number;
  /** Between two attempts, seconds. */
  readonly retrySeconds: number;
}

/** Takes part in an election. */
export interface LeaderElection extends Leadership {
  start(): void;
  /** Milliseconds since the last finished attempt: a loop that stands still shows here. */
  sinceAttempt(): number;
  /** Stops, and gives the lease up so that another process need not wait for it. */
  stop(): Promise<void>;
}

/** What {@link createLeaderElection} needs. */
export interface LeaderElectionOptions {
  readonly client: Pick<KubernetesClient, 'call'>;
  readonly namespace: string;
  readonly name: string;
  /** Unique to this process. */
  readonly identity: string;
  readonly timing: ElectionTiming;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onElected: () => void;
  /** The lease is lost: the process is to end without acting any more. */
  readonly onLost: () => void;
}

/**
 * Makes an election on a Lease. A holder that was not able to renew stops acting after `renewSeconds`, counted from the
 * moment it sent its last successful renewal; others take the lease no sooner than `leaseSeconds` after they saw it
 * change last. Both are measured on each process's own monotonic clock, so clocks that differ do not matter.
 *
 * Source: client-go tools/leaderelection.
 */
export function createLeaderElection(options: LeaderElectionOptions): LeaderElection {
  const { client, identity, timing, clock, logger } = options;
  const collection = `/apis/coordination.k8s.io/v1/namespaces/${options.namespace}/leases`;
  const path = `${collection}/${options.name}`;
  const stopping = new AbortController();
  const lost = new AbortController();
  /** Of one call, so that a call that hangs leaves time for another one. */
  const timeoutMs = (timing.renewSeconds * 1000) / 2;
  /** When the last successful renewal was sent; `null` while not leading. */
  let renewedAt: number | null = null;
  let observed: { readonly lease: Lease; readonly at: number } | null = null;
  let attemptedAt = clock.monotonic();
  let loop: Promise<void> = Promise.resolve();
  let told: string | null = null;

  const heldUntil = (): number => (renewedAt === null ? -Infinity : renewedAt + timing.renewSeconds * 1000);
  const isHeld = (): boolean => clock.monotonic() < heldUntil() && !lost.signal.aborted;

  const observe = (lease: Lease): void => {
    const changed = observed?.lease.metadata.resourceVersion !== lease.metadata.resourceVersion;
    if (changed || observed === null) observed = { lease, at: clock.monotonic() };
  };

  /** When the lease that was seen last may be taken, monotonic milliseconds. */
  const freeAt = (): number => {
    if (observed === null) return -Infinity;
    const { holderIdentity, leaseDurationSeconds } = observed.lease.spec;
    if (holderIdentity === identity || (holderIdentity ?? '') === '') return -Infinity;
    return observed.at + (leaseDurationSeconds ?? timing.leaseSeconds) * 1000;
  };

  const read = async (): Promise<Lease> =>
    LeaseSchema.parse(await client.call({ method: 'GET', path, timeoutMs, signal: stopping.signal }));

  const write = async (previous: Lease | null): Promise<void> => {
    const spec = heldSpec(previous?.spec ?? null, identity, timing.leaseSeconds, clock.now());
    const metadata = {
      name: options.name,
      namespace: options.namespace,
      ...(previous === null ? {} : { resourceVersion: previous.metadata.resourceVersion }),
    };
    const sentAt = clock.monotonic();
    const answer = await client.call({
      method: previous === null ? 'POST' : 'PUT',
      path: previous === null ? collection : path,
      body: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec },
      timeoutMs,
      signal: stopping.signal,
    });
    observe(LeaseSchema.parse(answer));
    const isFirst = renewedAt === null;
    renewedAt = sentAt;
    if (!isFirst) return;
    logger.info({ lease: options.name, identity }, 'elected: this process leads');
    options.onElected();
  };

  const attempt = async (): Promise<void> => {
    try {
      // A holder that knows its last version writes at once; everybody else looks first.
      if (renewedAt === null || observed === null) {
        observe(await read());
      }
      if (clock.monotonic() >= freeAt()) await write(observed?.lease ?? null);
    } catch (error) {
      if (hasStatus(error, 404)) {
        await write(null);
        return;
      }
      // Somebody else wrote: what is held must be read again.
      if (hasStatus(error, 409)) {
        const lease = await read();
        observe(lease);
        if (renewedAt !== null && lease.spec.holderIdentity !== identity) renewedAt = -Infinity;
        return;
      }
      throw error;
    }
  };

  /** Whether the attempt went through, whatever came of it. */
  const turn = async (): Promise<boolean> => {
    try {
      await attempt();
      told = null;
      return true;
    } catch (error) {
      if (stopping.signal.aborted) return false;
      const said = hasStatus(error, 403)
        ? 'no permission on leases: grant the operator get, create and update on them'
        : 'the lease cannot be read or renewed';
      if (told !== said) logger[hasStatus(error, 403) ? 'error' : 'warn']({ err: error }, said);
      told = said;
      return false;
    } finally {
      attemptedAt = clock.monotonic();
    }
  };

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      // Looked at before anything else: a process that was stopped for a while wakes up here.
      if (renewedAt !== null && !isHeld()) {
        lost.abort(new LeadershipLost());
        logger.error({ lease: options.name }, 'the lease is lost: this process stops acting and ends');
        options.onLost();
        return;
      }
      const went = await turn();
      if (renewedAt !== null && !isHeld()) continue;
      const now = clock.monotonic();
      // A waiting process wakes exactly when the lease it has seen runs out.
      const deadline = renewedAt === null ? freeAt() : heldUntil();
      const retryAt = now + timing.retrySeconds * 1000;
      const wake = went && deadline > now ? Math.min(deadline, retryAt) : retryAt;
      await clock.sleep(Math.max(0, wake - now), stopping.signal).catch(() => undefined);
    }
  };

  const release = async (): Promise<void> => {
    if (!isHeld() || observed === null) return;
    const { lease } = observed;
    renewedAt = -Infinity;
    await client.call({
      method: 'PUT',
      path,
      body: { ...lease, spec: releasedSpec(lease.spec, clock.now()) },
      timeoutMs: timing.retrySeconds * 1000,
    });
    logger.info({ lease: options.name }, 'the lease is given up');
  };

  return {
    isHeld,
    act: async (effect) => {
      if (!isHeld()) throw new LeadershipLost();
      const cut = new AbortController();
      const signal = AbortSignal.any([lost.signal, cut.signal]);
      const done = new AbortController();
      const fence = async (): Promise<void> => {
        // The deadline moves with every renewal.
        while (isHeld()) await clock.sleep(heldUntil() - clock.monotonic(), done.signal);
        cut.abort(new LeadershipLost());
      };
      fence().catch(() => undefined);
      try {
        return await effect(signal);
      } finally {
        done.abort();
      }
    },
    start: () => {
      loop = run();
    },
    sinceAttempt: () => clock.monotonic() - attemptedAt,
    stop: async () => {
      stopping.abort(new Error('the election is left'));
      await loop;
      await release().catch((error: unknown) => {
        logger.warn({ err: error }, 'the lease could not be given up; it runs out by itself');
      });
    },
  };
}

/** For a single process without an election: everything may be done at any time. */
export const alwaysLeading: Leadership = {
  isHeld: () => true,
  act: async (effect) => await effect(new AbortController().signal),
};
