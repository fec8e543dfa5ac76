import { V1MicroTime, type V1LeaseSpec } from '@kubernetes/client-node';

/**
 * The spec that makes `identity` the holder.
 *
 * @param previous `undefined` for a new Lease
 * @param nowMs Unix milliseconds
 */
export function heldSpec(
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

/** The spec of a Lease that was released: the next process can take it immediately. */
export function releasedSpec(previous: V1LeaseSpec | undefined, nowMs: number): V1LeaseSpec {
  const released = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: new V1MicroTime(nowMs) };
  return Object.assign({}, previous, released);
}
