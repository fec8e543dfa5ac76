import {
  V1MicroTime,
  type ConfigurationOptions,
  type CoordinationV1Api,
  type V1Lease,
  type V1LeaseSpec,
} from '@kubernetes/client-node';
import type { ClusterConnection } from '../../platform/kubernetes/cluster-connection.ts';
import { hasStatus } from '../../platform/kubernetes/kubernetes-error.ts';
import type { Clock } from '../../platform/process/clock.ts';

export interface LeaseHolderOptions {
  readonly leases: CoordinationV1Api;
  readonly call: ClusterConnection['call'];
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  readonly timing: {
    /** How long a lease is valid after its last renewal, seconds. */
    readonly leaseSeconds: number;
    /** How long the holder acts without a renewal, seconds; less than the lease. */
    readonly renewSeconds: number;
    /** Between two attempts, seconds. */
    readonly retrySeconds: number;
  };
  readonly clock: Clock;
}

/** Takes, renews and releases a Lease. All times are monotonic milliseconds of this process. */
export interface LeaseHolder {
  isHeld(): boolean;
  wasHeld(): boolean;
  /** When this process must stop acting unless it renews; `-Infinity` while it does not lead. */
  heldUntil(): number;
  freeAt(): number;
  /** Tries once to take or renew the lease. @throws KubernetesError, HttpFailure, the reason of the signal */
  attempt(signal: AbortSignal): Promise<void>;
  /** Releases the lease if it is held. @returns whether it was */
  release(): Promise<boolean>;
}

/** Makes a holder that has not seen the Lease yet. */
export function createLeaseHolder(options: LeaseHolderOptions): LeaseHolder {
  const { leases, namespace, name, identity, timing, clock } = options;
  /** For one call, so that a call that hangs leaves time for another one. */
  const timeoutMs = (timing.renewSeconds * 1000) / 2;
  /** When the last successful renewal was sent; `null` before the first one. */
  let renewedAt: number | null = null;
  let observed: { readonly lease: V1Lease; readonly at: number } | null = null;

  const heldUntil = (): number => (renewedAt === null ? -Infinity : renewedAt + timing.renewSeconds * 1000);
  const isHeld = (): boolean => clock.monotonic() < heldUntil();

  const observe = (lease: V1Lease): void => {
    const isChanged = observed?.lease.metadata?.resourceVersion !== lease.metadata?.resourceVersion;
    if (isChanged || observed === null) observed = { lease, at: clock.monotonic() };
  };

  const freeAt = (): number => {
    if (observed === null) return -Infinity;
    const { holderIdentity = '', leaseDurationSeconds = timing.leaseSeconds } = observed.lease.spec ?? {};
    if (holderIdentity === identity || holderIdentity === '') return -Infinity;
    return observed.at + leaseDurationSeconds * 1000;
  };

  const read = async (signal: AbortSignal): Promise<V1Lease> =>
    await leases.readNamespacedLease({ namespace, name }, options.call({ timeoutMs, signal }));

  const replace = async (
    previous: V1Lease,
    spec: V1Lease['spec'],
    call: ConfigurationOptions,
  ): Promise<V1Lease> => {
    // A replacement removes what it leaves out, such as the labels and annotations of the installer that owns the Lease.
    const metadata = Object.assign({ resourceVersion: '' }, previous.metadata, { name, namespace });
    delete metadata.managedFields;
    const body: V1Lease = {
      metadata,
      ...(spec === undefined ? {} : { spec }),
    };
    return await leases.replaceNamespacedLease({ namespace, name, body }, call);
  };

  const write = async (previous: V1Lease | null, signal: AbortSignal): Promise<void> => {
    const spec = heldSpec(previous?.spec, identity, timing.leaseSeconds, clock.now());
    const call = options.call({ timeoutMs, signal });
    const sentAt = clock.monotonic();
    const body = { metadata: { name, namespace }, spec };
    observe(
      previous === null
        ? await leases.createNamespacedLease({ namespace, body }, call)
        : await replace(previous, spec, call),
    );
    renewedAt = sentAt;
  };

  return {
    isHeld,
    wasHeld: () => renewedAt !== null,
    heldUntil,
    freeAt,
    attempt: async (signal) => {
      try {
        // A holder that knows its last version writes without reading first.
        if (renewedAt === null || observed === null) observe(await read(signal));
        if (clock.monotonic() >= freeAt()) await write(observed?.lease ?? null, signal);
      } catch (error) {
        if (hasStatus(error, 404)) await write(null, signal);
        else if (hasStatus(error, 409)) {
          // Another process wrote, so the Lease must be read again.
          const lease = await read(signal);
          observe(lease);
          if (renewedAt !== null && lease.spec?.holderIdentity !== identity) renewedAt = -Infinity;
        } else throw error;
      }
    },
    release: async () => {
      if (!isHeld() || observed === null) return false;
      const { lease } = observed;
      renewedAt = -Infinity;
      const call = options.call({ timeoutMs: timing.retrySeconds * 1000 });
      await replace(lease, releasedSpec(lease.spec, clock.now()), call);
      return true;
    },
  };
}

/** The spec that makes `identity` the holder. @param nowMs Unix milliseconds */
function heldSpec(
  previous: V1LeaseSpec | undefined,
  identity: string,
  leaseSeconds: number,
  nowMs: number,
): V1LeaseSpec {
  const isRenewal = previous?.holderIdentity === identity;
  const now = new V1MicroTime(nowMs);
  return {
    holderIdentity: identity,
    leaseDurationSeconds: leaseSeconds,
    acquireTime: isRenewal ? (previous?.acquireTime ?? now) : now,
    renewTime: now,
    leaseTransitions: (previous?.leaseTransitions ?? 0) + (isRenewal || previous === undefined ? 0 : 1),
  };
}

function releasedSpec(previous: V1LeaseSpec | undefined, nowMs: number): V1LeaseSpec {
  const released = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: new V1MicroTime(nowMs) };
  return Object.assign({}, previous, released);
}
