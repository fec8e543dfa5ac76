import { readFile } from 'node:fs/promises';
import { startApiProxy, type PassingRequest } from '../support/api-proxy.ts';
import { startFakeSlipway, type FakeSlipway } from '../support/fake-slipway.ts';
import { kubeTools } from '../support/kube-tools.ts';
import { startOperatorWorld, type OperatorWorld } from '../support/operator-world.ts';
import type { SlipwayProcess } from '../support/process.ts';
import { until } from '../support/until.ts';
import { benchRow, type BenchOptions, type BenchRow } from './bench-row.ts';
import { quantile } from './statistics.ts';

const PATIENCE_MS = 300_000;
const AT_REST_MS = 60_000;
/** As long as the operator leaves a status that says the same. */
const WATCHED_MS = 300_000;
const CHANNEL_0 = { serverRef: { name: 'channel-0', port: 80 }, sync: { interval: '1h' } };
/** The default settings of the operator. */
const DEFAULTS = [
  '--reconcile.intervalSeconds=30',
  '--pods.timeoutMs=5000',
  '--pods.staleSeconds=90',
  '--log.level=info',
];

/**
 * Memory of the operator at rest, time until many objects are Ready, and time from a change to the status that reports
 * it.
 */
export async function run(options: BenchOptions): Promise<BenchRow[]> {
  const ends: Array<() => Promise<void> | void> = [];
  const atEnd = (end: () => Promise<void> | void): void => {
    ends.push(end);
  };
  try {
    if (kubeTools('etcd', 'kube-apiserver') === null) return [];
    const world = await startOperatorWorld(atEnd);
    const fake = await startFakeSlipway(atEnd);
    const few = options.quick ? 10 : 100;
    const many = options.quick ? 50 : 1_000;
    const rest = await resting(world, fake, few, options, atEnd);
    return [...rest, ...(await manyChannels(world, fake, many, options, atEnd))];
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}

type AtEnd = Parameters<typeof startOperatorWorld>[0];

async function resting(
  world: OperatorWorld,
  fake: FakeSlipway,
  count: number,
  options: BenchOptions,
  atEnd: AtEnd,
): Promise<BenchRow[]> {
  const namespace = await world.createNamespace();
  const operator = await world.startOperator(namespace, { args: DEFAULTS, measuresMemory: true, atEnd });
  await applyMany(world, namespace, count, fake);
  await untilReady(operator, count);
  await new Promise((resolve) => setTimeout(resolve, options.quick ? 1_000 : AT_REST_MS));
  const resident = await residentMib(operator.pid);
  const latencies: number[] = [];
  for (let round = 0; round < (options.quick ? 3 : 20); round += 1) {
    const value = `round ${round}`;
    const asked = fake.requests.length;
    fake.taskStatus = 'running';
    await world.apply(namespace, 'channel-0', CHANNEL_0, { 'slipway.dev/requestedAt': value });
    await until(() => fake.requests.slice(asked).includes('GET /admin/tasks/status'), PATIENCE_MS);
    const begin = performance.now();
    fake.taskStatus = 'succeeded';
    await until(
      async () => (await world.get(namespace, 'channel-0'))?.status?.lastHandledReconcileAt === value,
      PATIENCE_MS,
    );
    latencies.push(performance.now() - begin);
  }
  await operator.kill();
  return [
    bounded('operator RSS at rest', resident, 'MiB', 180, `${count} ReleaseChannels`),
    bounded(
      'from the end of a requested task to the status that says its result',
      quantile(latencies, 0.5),
      'ms',
      1_000,
      `p99 ${quantile(latencies, 0.99).toFixed(0)} ms; ${count} ReleaseChannels`,
    ),
  ];
}

/** Starts an operator for many new objects in a new namespace. @returns seconds until all are Ready, and its memory then in MiB */
export async function convergenceOf(
  world: OperatorWorld,
  fake: FakeSlipway,
  count: number,
  atEnd: AtEnd,
): Promise<{ readonly namespace: string; readonly seconds: number; readonly resident: number }> {
  const namespace = await world.createNamespace();
  await applyMany(world, namespace, count, fake);
  const begin = performance.now();
  const operator = await world.startOperator(namespace, { args: DEFAULTS, measuresMemory: true, atEnd });
  await untilReady(operator, count);
  const seconds = (performance.now() - begin) / 1000;
  const resident = await residentMib(operator.pid);
  await operator.kill();
  return { namespace, seconds, resident };
}

async function manyChannels(
  world: OperatorWorld,
  fake: FakeSlipway,
  count: number,
  options: BenchOptions,
  atEnd: AtEnd,
): Promise<BenchRow[]> {
  const { namespace, seconds, resident } = await convergenceOf(world, fake, count, atEnd);
  const note = `${count} ReleaseChannels from nothing, ${resident.toFixed(0)} MiB; API server and etcd share the cores`;
  return [
    bounded('until every object is Ready', seconds, 's', 60, note),
    ...(await manyAtRest(world, namespace, count, options, atEnd)),
  ];
}

/** Another operator of objects that are Ready, behind a proxy that counts what it asks of the API server. */
async function manyAtRest(
  world: OperatorWorld,
  namespace: string,
  count: number,
  options: BenchOptions,
  atEnd: AtEnd,
): Promise<BenchRow[]> {
  const proxy = await startApiProxy(world.plane, atEnd);
  const operator = await world.startOperator(namespace, {
    args: DEFAULTS,
    server: proxy.url,
    measuresMemory: true,
    atEnd,
  });
  await untilReady(operator, count);
  await new Promise((resolve) => setTimeout(resolve, options.quick ? 1_000 : AT_REST_MS));
  const before = proxy.passed.length;
  const watchedMs = options.quick ? 1_000 : WATCHED_MS;
  await new Promise((resolve) => setTimeout(resolve, watchedMs));
  const calls = proxy.passed.slice(before);
  const perMinute = (those: readonly PassingRequest[]): number => (those.length * 60_000) / watchedMs;
  const resident = await residentMib(operator.pid);
  await operator.kill();
  const writes = perMinute(calls.filter(({ path }) => path.endsWith('/status')));
  const leases = perMinute(calls.filter(({ path }) => path.includes('/leases/')));
  return [
    bounded('operator RSS at rest', resident, 'MiB', 260, `${count} ReleaseChannels`),
    bounded(
      'calls to the API server a minute at rest',
      perMinute(calls),
      'calls',
      300,
      `${count} ReleaseChannels; ${writes.toFixed(0)} confirm a status, ${leases.toFixed(0)} renew the Lease`,
    ),
  ];
}

/** Each channel has a Service of its own: two objects for one channel of one Service would be rivals. */
async function applyMany(
  world: OperatorWorld,
  namespace: string,
  count: number,
  fake: FakeSlipway,
): Promise<void> {
  // Makes the Secret, once.
  await world.expose(namespace, 'of-the-secret', [fake]);
  for (let from = 0; from < count; from += 50) {
    const batch = Array.from({ length: Math.min(50, count - from) }, (_, index) => `channel-${from + index}`);
    await Promise.all(
      batch.map(async (name) => {
        await world.expose(namespace, name, [fake]);
        await world.apply(namespace, name, { serverRef: { name, port: 80 }, sync: { interval: '1h' } });
      }),
    );
  }
}

async function untilReady(operator: SlipwayProcess, count: number): Promise<void> {
  const listening = JSON.parse(
    operator.lines.find((line) => line.includes('"operator listening"')) ?? '{}',
  ) as { metrics_url: string };
  const wanted = `slipway_operator_release_channels{ready="True"} ${count}`;
  await until(
    async () => (await (await fetch(`${listening.metrics_url}/metrics`)).text()).includes(wanted),
    PATIENCE_MS,
  );
}

async function residentMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

function bounded(name: string, value: number, unit: string, target: number, note: string): BenchRow {
  return benchRow({ name, rounds: [value], unit, bound: { atMost: target }, note });
}
