import { readFile } from 'node:fs/promises';
import { startFakeSlipway, type FakeSlipway } from '../support/fake-slipway.ts';
import { kubeTools } from '../support/kube-tools.ts';
import { startOperatorWorld, type OperatorWorld } from '../support/operator-world.ts';
import type { SlipwayProcess } from '../support/process.ts';
import { until } from '../support/until.ts';
import type { BenchOptions, BenchRow } from './bench-row.ts';
import { quantile } from './statistics.ts';

const PATIENCE_MS = 300_000;
const AT_REST_MS = 60_000;
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
    const convergence = await converging(world, fake, many, atEnd);
    return [...rest, convergence];
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
  await world.expose(namespace, 'slipway', [fake]);
  const operator = await world.startOperator(namespace, { args: DEFAULTS, measuresMemory: true, atEnd });
  await applyMany(world, namespace, count);
  await untilReady(operator, count);
  await new Promise((resolve) => setTimeout(resolve, options.quick ? 1_000 : AT_REST_MS));
  const resident = await residentMib(operator.pid);
  const latencies: number[] = [];
  for (let round = 0; round < (options.quick ? 3 : 20); round += 1) {
    const begin = performance.now();
    const value = `round ${round}`;
    await world.apply(namespace, 'channel-0', {}, { 'slipway.dev/requestedAt': value });
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
      'from a request to the status that says it is handled',
      quantile(latencies, 0.5),
      'ms',
      500,
      `p99 ${quantile(latencies, 0.99).toFixed(0)} ms; ${count} ReleaseChannels`,
    ),
  ];
}

async function converging(
  world: OperatorWorld,
  fake: FakeSlipway,
  count: number,
  atEnd: AtEnd,
): Promise<BenchRow> {
  const namespace = await world.createNamespace();
  await world.expose(namespace, 'slipway', [fake]);
  await applyMany(world, namespace, count);
  const begin = performance.now();
  const operator = await world.startOperator(namespace, { args: DEFAULTS, measuresMemory: true, atEnd });
  await untilReady(operator, count);
  const seconds = (performance.now() - begin) / 1000;
  const resident = await residentMib(operator.pid);
  const note = `${count} ReleaseChannels from nothing, ${resident.toFixed(0)} MiB; API server and etcd share the cores`;
  return bounded('until every object is Ready', seconds, 's', 60, note);
}

async function applyMany(world: OperatorWorld, namespace: string, count: number): Promise<void> {
  for (let from = 0; from < count; from += 50) {
    const batch = Array.from({ length: Math.min(50, count - from) }, (_, index) => `channel-${from + index}`);
    await Promise.all(
      batch.map(async (name) => await world.apply(namespace, name, { sync: { interval: '1h' } })),
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
  return {
    case: name,
    value,
    unit,
    target: `<= ${target}`,
    pass: value <= target,
    rounds: [value],
    note,
  };
}
