import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { campaignSize } from '../support/long.ts';
import { kubeTools } from '../support/kube-tools.ts';
import { sharedOperatorWorld, startFakes } from '../support/operator-world.ts';
import { sharedFixture } from '../support/shared-fixture.ts';
import { until } from '../support/until.ts';

const missing = kubeTools('etcd', 'kube-apiserver') === null;
const COUNT = campaignSize(200, 1000);
const SERVERS = 50;
/** Well above the usual value, so that it fails for a leak and not for a busy machine. */
const RESIDENT_MAX_MIB = 260;

describe.skipIf(missing)(`${COUNT} ReleaseChannels`, () => {
  const world = sharedFixture(sharedOperatorWorld);

  it('converge, each with its schedule once, and are deleted again', async () => {
    const namespace = await world().createNamespace();
    const fakes = await startFakes(SERVERS);
    const names = Array.from({ length: COUNT }, (_, index) => `channel-${index}`);
    // Each channel has a Service of its own: two objects for one channel of one Service would be rivals.
    const expose = async (index: number): Promise<void> => {
      await world().expose(namespace, `server-${index}`, [fakes[index % SERVERS]!]);
    };
    await expose(0);
    for (let from = 0; from < COUNT; from += 50) {
      const batch = names.slice(from, from + 50);
      const applied = await Promise.all(
        batch.map(async (name, at) => {
          if (from + at > 0) await expose(from + at);
          const serverRef = { name: `server-${from + at}`, port: 80 };
          return await world().apply(namespace, name, { serverRef, sync: { interval: '15m' } });
        }),
      );
      expect(applied.every(({ status }) => status === 201)).toBe(true);
    }
    const operator = await world().startOperator(namespace, { args: ['--reconcile.intervalSeconds=300'] });
    const metric = async (name: string): Promise<number> => {
      const listening = JSON.parse(
        operator.lines.find((line) => line.includes('"operator listening"')) ?? '{}',
      ) as { metrics_url: string };
      const text = await (await fetch(`${listening.metrics_url}/metrics`)).text();
      const line = text.split('\n').find((each) => each.startsWith(`${name} `));
      return Number(line?.slice(name.length + 1));
    };
    await until(async () => (await metric('slipway_operator_release_channels{ready="True"}')) === COUNT);
    const actions = fakes.flatMap((fake) => fake.actions.map(({ action }) => action));
    expect(actions.filter((action) => action === 'schedule-add')).toHaveLength(COUNT);
    expect(actions).toHaveLength(COUNT);
    const schedules = (): number => fakes.reduce((sum, fake) => sum + fake.schedules.size, 0);
    expect(schedules()).toBe(COUNT);
    const status = await readFile(`/proc/${operator.pid}/status`, 'utf8');
    expect(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024).toBeLessThan(RESIDENT_MAX_MIB);

    const path = `/apis/slipway.dev/v1alpha1/namespaces/${namespace}/releasechannels`;
    await world().plane.request('DELETE', path);
    await until(async () => {
      const { body } = await world().plane.request('GET', `${path}?limit=1`);
      return (body as { items: unknown[] }).items.length === 0;
    });
    await until(() => schedules() === 0);
  });
});
