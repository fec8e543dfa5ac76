import { describe, expect, it } from 'vitest';
import type { FakeSlipway } from '../support/fake-slipway.ts';
import { kubeTools } from '../support/kube-tools.ts';
import { startFakes, sharedOperatorWorld, type ChannelObject } from '../support/operator-world.ts';
import type { SlipwayProcess } from '../support/process.ts';
import { sharedFixture } from '../support/shared-fixture.ts';
import { until } from '../support/until.ts';

const missing = kubeTools('etcd', 'kube-apiserver') === null;
/** Long enough to renew in time on a machine that is busy. */
const LONG = ['--election.leaseSeconds=120', '--election.renewSeconds=100', '--election.retrySeconds=0.5'];
/** A process that stood still must have lost its lease. */
const SHORT = ['--election.leaseSeconds=12', '--election.renewSeconds=10', '--election.retrySeconds=0.5'];

describe.skipIf(missing)('of two operators', () => {
  const world = sharedFixture(sharedOperatorWorld);

  interface Scene {
    readonly namespace: string;
    readonly fake: FakeSlipway;
    readonly leader: SlipwayProcess;
    readonly standby: SlipwayProcess;
  }

  async function scene(args: readonly string[]): Promise<Scene> {
    const namespace = await world().createNamespace();
    const [fake] = await startFakes(1);
    await world().expose(namespace, 'slipway', [fake!]);
    await world().apply(namespace, 'official', { sync: { interval: '15m' } });
    const leader = await world().startOperator(namespace, { args });
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    const standby = await world().startOperator(namespace, { args });
    await until(async () => (await fetch(`${standby.url}/readyz`)).ok);
    return { namespace, fake: fake!, leader, standby };
  }

  const leads = (process: SlipwayProcess): boolean =>
    process.lines.some((line) => line.includes('elected: this process leads'));

  const leaseOf = (namespace: string): string =>
    `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/slipway-operator`;

  async function holder(namespace: string): Promise<{ holderIdentity: string; leaseTransitions: number }> {
    const { body } = await world().plane.request('GET', leaseOf(namespace));
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
    );
  }

  it('only the leader acts, and the other takes over when it is killed', async () => {
    const { namespace, fake, leader, standby } = await scene(LONG);
    await request(namespace, 'one');
    expect(leads(standby)).toBe(false);
    await leader.kill();
    // Nobody has to wait for the rest of the lease: its holder is dead.
    const shorter = {
      contentType: 'application/merge-patch+json',
      body: { spec: { leaseDurationSeconds: 1 } },
    };
    expect((await world().plane.request('PATCH', leaseOf(namespace), shorter)).status).toBe(200);
    await request(namespace, 'two');
    await until(() => leads(standby));
    expect((await holder(namespace)).leaseTransitions).toBe(1);
    expect(fake.actions.map(({ action }) => action)).toEqual(['schedule-add', 'sync', 'sync']);
  });

  it('nothing is lost or done twice when the leader dies in the middle of its work', async () => {
    const count = 100;
    const namespace = await world().createNamespace();
    const [fake] = await startFakes(1);
    const names = Array.from({ length: count }, (_, index) => `channel-${index}`);
    const applyAll = async (annotations: object = {}): Promise<void> => {
      await Promise.all(
        names.map(async (name) => {
          const spec = { serverRef: { name, port: 80 }, sync: { interval: '15m' } };
          await world().apply(namespace, name, spec, annotations);
        }),
      );
    };
    // Makes the Secret, once.
    await world().expose(namespace, 'of-the-secret', [fake!]);
    await Promise.all(names.map(async (name) => await world().expose(namespace, name, [fake!])));
    const args = [...LONG, '--reconcile.intervalSeconds=300'];
    const leader = await world().startOperator(namespace, { args });
    await until(() => leads(leader));
    const standby = await world().startOperator(namespace, { args });
    await until(async () => (await fetch(`${standby.url}/readyz`)).ok);
    await applyAll();
    await until(() => fake!.schedules.size === count);

    await applyAll({ 'slipway.dev/requestedAt': 'under load' });
    const syncs = (): number => fake!.actions.filter(({ action }) => action === 'sync').length;
    await until(() => syncs() >= 10);
    await leader.kill();
    expect(syncs()).toBeLessThan(count);
    // Nobody has to wait for the rest of the lease: its holder is dead.
    await world().plane.request('PATCH', leaseOf(namespace), {
      contentType: 'application/merge-patch+json',
      body: { spec: { leaseDurationSeconds: 1 } },
    });
    await until(async () => {
      const path = `/apis/slipway.dev/v1alpha1/namespaces/${namespace}/releasechannels`;
      const { items } = (await world().plane.request('GET', path)).body as {
        items: readonly ChannelObject[];
      };
      return items.every(({ status }) => status?.lastHandledReconcileAt === 'under load');
    });
    expect(leads(standby)).toBe(true);
    expect(syncs()).toBe(count);
    expect(fake!.actions.filter(({ action }) => action === 'schedule-add')).toHaveLength(count);
    expect(fake!.schedules.size).toBe(count);
  });

  it('one that stood still stops acting and ends: nothing is done twice', async () => {
    const { namespace, fake, leader, standby } = await scene(SHORT);
    leader.signal('SIGSTOP');
    await request(namespace, 'while it stands');
    await until(() => leads(standby));
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
    const { namespace, leader, standby } = await scene(LONG);
    expect(await leader.stop()).toBe(0);
    expect(leader.lines.join('\n')).toContain('the lease is released');
    await until(() => leads(standby));
    await request(namespace, 'afterwards');
    // Again without a standby: the lease on the API server itself is released.
    expect(await standby.stop()).toBe(0);
    const { body } = await world().plane.request('GET', leaseOf(namespace));
    expect(body).toMatchObject({ spec: { holderIdentity: '', leaseDurationSeconds: 1 } });
  });
});
