import { describe, expect, it } from 'vitest';
import type { FakeSlipway } from '../support/fake-slipway.ts';
import { kubeTools } from '../support/kube-tools.ts';
import { PATIENCE_MS, startFakes, sharedOperatorWorld } from '../support/operator-world.ts';
import type { SlipwayProcess } from '../support/process.ts';
import { sharedFixture } from '../support/shared-fixture.ts';
import { until } from '../support/until.ts';

const missing = kubeTools('etcd', 'kube-apiserver') === null;
/** Shorter than the defaults, to keep the tests short; long enough to renew in time on a busy machine. */
const FAST = ['--election.leaseSeconds=6', '--election.renewSeconds=4', '--election.retrySeconds=0.5'];

describe.skipIf(missing)('of two operators', () => {
  const world = sharedFixture(sharedOperatorWorld);

  interface Scene {
    readonly namespace: string;
    readonly fake: FakeSlipway;
    readonly leader: SlipwayProcess;
    readonly standby: SlipwayProcess;
  }

  async function scene(): Promise<Scene> {
    const namespace = await world().createNamespace();
    const [fake] = await startFakes(1);
    await world().expose(namespace, 'slipway', [fake!]);
    await world().apply(namespace, 'official', { sync: { interval: '15m' } });
    const leader = await world().startOperator(namespace, { args: FAST });
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    const standby = await world().startOperator(namespace, { args: FAST });
    await until(async () => (await fetch(`${standby.url}/readyz`)).ok, PATIENCE_MS);
    return { namespace, fake: fake!, leader, standby };
  }

  const leads = (process: SlipwayProcess): boolean =>
    process.lines.some((line) => line.includes('elected: this process leads'));

  async function holder(namespace: string): Promise<{ holderIdentity: string; leaseTransitions: number }> {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/slipway-operator`;
    const { body } = await world().plane.request('GET', path);
    return (body as { spec: { holderIdentity: string; leaseTransitions: number } }).spec;
  }

  /** Asks for a reconciliation and waits until it is handled. */
  async function request(namespace: string, value: string): Promise<void> {
    await world().apply(
      namespace,
      'official',
      { sync: { interval: '15m' } },
      { 'slipway.dev/requestedAt': value },
    );
    await until(
      async () => (await world().get(namespace, 'official'))?.status?.lastHandledReconcileAt === value,
      PATIENCE_MS,
    );
  }

  it('only the leader acts, and the other takes over when it is killed', async () => {
    const { namespace, fake, leader, standby } = await scene();
    await request(namespace, 'one');
    expect(leads(standby)).toBe(false);
    await leader.kill();
    await request(namespace, 'two');
    expect(leads(standby)).toBe(true);
    expect((await holder(namespace)).leaseTransitions).toBe(1);
    expect(fake.actions.map(({ action }) => action)).toEqual(['schedule-add', 'sync', 'sync']);
  });

  it('one that stood still stops acting and ends: nothing is done twice', async () => {
    const { namespace, fake, leader, standby } = await scene();
    leader.signal('SIGSTOP');
    await request(namespace, 'while it stands');
    expect(leads(standby)).toBe(true);
    const held = await holder(namespace);
    leader.signal('SIGCONT');
    expect(await leader.exited).toBe(1);
    expect(leader.lines.join('\n')).toContain('the lease is lost: this process stops acting and ends');
    await request(namespace, 'afterwards');
    expect(await holder(namespace)).toMatchObject({
      holderIdentity: held.holderIdentity,
      leaseTransitions: held.leaseTransitions,
    });
    expect(fake.actions.map(({ action }) => action)).toEqual(['schedule-add', 'sync', 'sync']);
  });

  it('one that stops cleanly releases the lease, so that the other need not wait', async () => {
    const { namespace, leader, standby } = await scene();
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/slipway-operator`;
    expect(await leader.stop()).toBe(0);
    expect(leader.lines.join('\n')).toContain('the lease is released');
    await until(() => leads(standby), PATIENCE_MS);
    await request(namespace, 'afterwards');
    // Again without a standby: the lease on the API server itself is released.
    expect(await standby.stop()).toBe(0);
    const { body } = await world().plane.request('GET', path);
    expect(body).toMatchObject({ spec: { holderIdentity: '', leaseDurationSeconds: 1 } });
  });
});
