import { describe, expect, it } from 'vitest';
import type { CoordinationV1Api, V1Lease } from '@kubernetes/client-node';
import { createLeaderElection, type LeaderElection } from '../../../src/operator/election/leader-election.ts';
import { LeadershipLost } from '../../../src/operator/election/leadership.ts';
import { KubernetesError } from '../../../src/platform/kubernetes/kubernetes-error.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

/** An API server that holds one Lease and checks versions, as the real one does. */
class LeaseServer {
  lease: {
    metadata: { resourceVersion: string; labels?: Record<string, string> };
    spec: NonNullable<V1Lease['spec']>;
  } | null = null;
  /** Fails every call. */
  down = false;
  /** Counts a call before anything else. */
  onCall = (): void => undefined;
  readonly writers: string[] = [];
  #version = 0;

  readonly api: Pick<
    CoordinationV1Api,
    'readNamespacedLease' | 'createNamespacedLease' | 'replaceNamespacedLease'
  > = {
    readNamespacedLease: async () => {
      this.#enter();
      if (this.lease === null) throw new KubernetesError(404, 'NotFound', 'no lease');
      return structuredClone(this.lease);
    },
    createNamespacedLease: async ({ body }) => this.#write(body),
    replaceNamespacedLease: async ({ body }) => this.#write(body),
  };

  #enter(): void {
    this.onCall();
    if (this.down) throw new KubernetesError(503, 'ServiceUnavailable', 'down');
  }

  #write({ metadata, spec = {} }: V1Lease): V1Lease {
    this.#enter();
    const isStale = metadata?.resourceVersion !== this.lease?.metadata.resourceVersion;
    if (isStale) throw new KubernetesError(409, 'Conflict', 'changed');
    this.#version += 1;
    const labels = metadata?.labels;
    const kept = labels === undefined ? {} : { labels };
    this.lease = { metadata: { resourceVersion: String(this.#version), ...kept }, spec };
    this.writers.push(String(spec.holderIdentity));
    return structuredClone(this.lease);
  }
}

interface Candidate {
  readonly election: LeaderElection;
  readonly events: string[];
}

function candidate(
  identity: string,
  server: LeaseServer,
  clock: FakeClock,
  timing: { leaseSeconds?: number } = {},
): Candidate {
  const events: string[] = [];
  const election = createLeaderElection({
    leases: server.api as CoordinationV1Api,
    call: () => ({}),
    namespace: 'ns',
    name: 'lease',
    identity,
    timing: { leaseSeconds: 15, renewSeconds: 10, retrySeconds: 2, ...timing },
    clock,
    logger: createSilentLogger(),
    onElected: () => {
      events.push('elected');
    },
    onLost: () => {
      events.push('lost');
    },
  });
  return { election, events };
}

describe('an election', () => {
  it('has one winner, who keeps renewing', async () => {
    const [server, clock] = [new LeaseServer(), new FakeClock()];
    const [a, b] = [candidate('a', server, clock), candidate('b', server, clock)];
    a.election.start();
    await clock.advance(100);
    b.election.start();
    await clock.advance(120_000);
    expect([a.election.isHeld(), b.election.isHeld()]).toEqual([true, false]);
    expect(new Set(server.writers)).toEqual(new Set(['a']));
    expect(server.lease?.spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 0 });
    expect(a.events).toEqual(['elected']);
  });

  it('takes a Lease that the installer made, keeps its labels, and writes no list of managers', async () => {
    const [server, clock] = [new LeaseServer(), new FakeClock()];
    const metadata = {
      resourceVersion: '7',
      labels: { 'app.kubernetes.io/managed-by': 'Helm' },
      managedFields: [],
    };
    server.lease = { metadata, spec: {} };
    const sent: unknown[] = [];
    const replace = server.api.replaceNamespacedLease;
    server.api.replaceNamespacedLease = async (request, ...rest) => {
      sent.push(request.body.metadata);
      return await replace(request, ...rest);
    };
    const a = candidate('a', server, clock);
    a.election.start();
    await clock.advance(60_000);
    expect(a.events).toEqual(['elected']);
    expect(server.lease).toMatchObject({
      metadata: { labels: { 'app.kubernetes.io/managed-by': 'Helm' } },
      spec: { holderIdentity: 'a' },
    });
    expect(sent[0]).not.toHaveProperty('managedFields');
    expect(sent.length).toBeGreaterThan(1);
  });

  it('is taken over within 17 s of a death, whatever the clocks of others say', async () => {
    const [server, clock] = [new LeaseServer(), new FakeClock()];
    const dead = new FakeClock();
    const skewed = new FakeClock(Date.UTC(2031, 0, 1));
    const a = candidate('a', server, dead);
    const b = candidate('b', server, skewed);
    a.election.start();
    await dead.advance(0);
    b.election.start();
    await skewed.advance(0);
    for (let second = 0; second < 60; second += 1) {
      await dead.advance(1_000);
      await skewed.advance(1_000);
    }
    expect(b.events).toEqual([]);
    // From here on a's clock stands still: it is dead.
    const from = skewed.monotonic();
    while (!b.election.isHeld()) await skewed.advance(100);
    expect(skewed.monotonic() - from).toBeLessThanOrEqual(17_000);
    expect(skewed.monotonic() - from).toBeGreaterThanOrEqual(13_000);
    expect(server.lease?.spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
    await clock.advance(0);
  });

  it('ends for a holder that cannot renew, well before the lease can be taken', async () => {
    const [server, clock] = [new LeaseServer(), new FakeClock()];
    const a = candidate('a', server, clock);
    a.election.start();
    await clock.advance(4_000);
    server.down = true;
    await clock.advance(7_000);
    expect(a.election.isHeld()).toBe(true);
    await clock.advance(3_500);
    expect(a.election.isHeld()).toBe(false);
    expect(a.events).toEqual(['elected', 'lost']);
  });

  it('is lost immediately for a holder that stood still and wakes up', async () => {
    const [server, clock] = [new LeaseServer(), new FakeClock()];
    const a = candidate('a', server, clock);
    a.election.start();
    await clock.advance(0);
    const writes = server.writers.length;
    const other = Object.assign({}, server.lease!.spec, { holderIdentity: 'b' });
    server.lease = { metadata: { resourceVersion: '77' }, spec: other };
    // In one step, as after SIGCONT: no timer in between fired.
    clock.jumpAhead(20_000);
    await expect(a.election.act(async () => 'done')).rejects.toThrow(LeadershipLost);
    await clock.advance(0);
    expect(a.events).toEqual(['elected', 'lost']);
    expect(server.writers).toHaveLength(writes);
    expect(server.lease.spec.holderIdentity).toBe('b');
  });

  it('is lost for a holder whose lease was taken', async () => {
    const [server, clock] = [new LeaseServer(), new FakeClock()];
    const a = candidate('a', server, clock);
    a.election.start();
    await clock.advance(0);
    server.lease = { metadata: { resourceVersion: '77' }, spec: { holderIdentity: 'thief' } };
    await clock.advance(2_000);
    expect(a.events).toEqual(['elected', 'lost']);
    expect(a.election.isHeld()).toBe(false);
  });

  it('stays with a holder whose lease was merely edited', async () => {
    const [server, clock] = [new LeaseServer(), new FakeClock()];
    const a = candidate('a', server, clock);
    a.election.start();
    await clock.advance(0);
    server.lease!.metadata.resourceVersion = '1-edited';
    await clock.advance(60_000);
    expect(a.events).toEqual(['elected']);
    expect(a.election.isHeld()).toBe(true);
  });

  it('is released at the end, so that the next one need not wait', async () => {
    const [server, clock] = [new LeaseServer(), new FakeClock()];
    const [a, b] = [candidate('a', server, clock), candidate('b', server, clock)];
    a.election.start();
    await clock.advance(100);
    b.election.start();
    await clock.advance(100);
    await a.election.stop();
    expect(server.lease?.spec).toMatchObject({ holderIdentity: '' });
    await clock.advance(2_000);
    expect(b.election.isHeld()).toBe(true);
  });

  it('retries only after the retry time when it is refused', async () => {
    const [server, clock] = [new LeaseServer(), new FakeClock()];
    let calls = 0;
    server.onCall = () => {
      calls += 1;
      throw new KubernetesError(403, 'Forbidden', 'no');
    };
    const a = candidate('a', server, clock);
    a.election.start();
    await clock.advance(20_000);
    expect(calls).toBeLessThanOrEqual(11);
  });
});

describe('an effect', () => {
  it('is refused where the lease is not held', async () => {
    const a = candidate('a', new LeaseServer(), new FakeClock());
    await expect(a.election.act(async () => 'done')).rejects.toThrow(LeadershipLost);
  });

  it('is aborted when the lease can no longer be renewed, and continues otherwise', async () => {
    const [server, clock] = [new LeaseServer(), new FakeClock()];
    const a = candidate('a', server, clock);
    a.election.start();
    await clock.advance(0);
    let cutAt: number | null = null;
    const effect = a.election.act(
      async (signal) =>
        await new Promise<string>((resolve) => {
          signal.addEventListener('abort', () => {
            cutAt = clock.monotonic();
            resolve('cut');
          });
        }),
    );
    await clock.advance(30_000);
    expect(cutAt).toBeNull();
    server.down = true;
    await clock.advance(12_000);
    expect(await effect).toBe('cut');
    expect(cutAt).toBeLessThanOrEqual(40_000);
  });
});
