import { z } from 'zod';

/** The part of a Lease that decides who leads. Source: Kubernetes API reference, coordination.k8s.io/v1. */
export const LeaseSchema = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string() }),
  spec: z
    .looseObject({
      holderIdentity: z.string().nullish(),
      leaseDurationSeconds: z.int().min(1).nullish(),
      acquireTime: z.string().nullish(),
      renewTime: z.string().nullish(),
      leaseTransitions: z.int().nullish(),
    })
    .default({}),
});

/** A Lease as it was read. */
export type Lease = z.output<typeof LeaseSchema>;

/** The spec that makes `identity` the holder. */
export function heldSpec(
  previous: Lease['spec'] | null,
  identity: string,
  leaseSeconds: number,
  nowMs: number,
): Record<string, unknown> {
  const isRenewal = previous?.holderIdentity === identity;
  const now = microTime(nowMs);
  return {
    holderIdentity: identity,
    leaseDurationSeconds: leaseSeconds,
    acquireTime: isRenewal ? (previous?.acquireTime ?? now) : now,
    renewTime: now,
    leaseTransitions: (previous?.leaseTransitions ?? 0) + (isRenewal || previous === null ? 0 : 1),
  };
}

/** The spec of a Lease that was given up: whoever comes next need not wait. */
export function releasedSpec(previous: Lease['spec'], nowMs: number): Record<string, unknown> {
  return { ...previous, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime(nowMs) };
}

/** RFC 3339 with microseconds, as MicroTime wants it. */
export function microTime(unixMs: number): string {
  return new Date(unixMs).toISOString().replace('Z', '000Z');
}
