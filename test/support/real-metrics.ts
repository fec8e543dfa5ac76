import { createRegistry } from '../../src/platform/metrics/metrics.ts';
import type { ReleaseChannel } from '../../src/operator/kubernetes/objects.ts';
import { createOperatorMetrics } from '../../src/operator/metrics.ts';
import { sampleFiles, writeReleaseTree } from './release-tree.ts';
import { startSystem } from './system.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { until } from './until.ts';

/** The answers of `/metrics` of every program. */
export interface RealMetrics {
  readonly server: string;
  readonly daemon: string;
  readonly operator: string;
}

/** Runs a server and a daemon with a release, and gives what they and an operator with a ReleaseChannel expose. */
export async function collectRealMetrics(): Promise<RealMetrics> {
  const upstream = await temporaryDirectory();
  await writeReleaseTree(upstream, { id: '1.0', files: sampleFiles() });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    daemon: { metrics: { host: '127.0.0.1', port: 0 } },
    server: { scrub: { enabled: true } },
  });
  await system.untilReady(true);
  const listening = system.daemon.lines.find((line) => line.includes('"daemon listening"')) ?? '{}';
  const { metrics_url: daemonUrl } = JSON.parse(listening) as { readonly metrics_url: string };
  const daemon = await until(async () => {
    const text = await (await fetch(`${daemonUrl}/metrics`)).text();
    // The first look of the doctor at everything ends a moment after the start.
    return text.includes('slipway_daemon_check_status{check="clock"}') && text;
  });
  return {
    server: await (await fetch(system.metricsUrl)).text(),
    daemon,
    operator: await operatorMetrics(),
  };
}

async function operatorMetrics(): Promise<string> {
  const registry = createRegistry({ name: 'slipway-operator', version: '0.1.0' });
  const units = { total: 2, ready: 1, skipped: 0 };
  const channel = {
    key: 'games/official',
    namespace: 'games',
    name: 'official',
    spec: { channel: 'official' },
    status: {
      conditions: [{ type: 'Ready', status: 'True' }],
      sync: { result: 'Changed', consecutiveFailures: 0 },
      localization: { coverage: '50%', units },
    },
  } as unknown as ReleaseChannel;
  const metrics = createOperatorMetrics(registry);
  metrics.observe({
    channels: () => [channel],
    queued: () => 0,
    isLeading: () => true,
    failuresOf: () => 0,
    missingFields: () => 0,
  });
  metrics.reconciled('settled', 0.01);
  return await registry.metrics();
}
