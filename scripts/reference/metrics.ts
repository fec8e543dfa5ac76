import { Counter, Histogram, Registry, type Metric } from 'prom-client';
import { createDaemonMetrics } from '../../src/daemon/metrics.ts';
import { createOperatorMetrics } from '../../src/operator/metrics.ts';
import { systemClock } from '../../src/platform/process/clock.ts';
import { createAdminMetrics } from '../../src/server/admin/admin-metrics.ts';
import { createBytePathMetrics } from '../../src/server/bytes/byte-path-metrics.ts';
import { registerConnectionMetrics } from '../../src/server/connection-metrics.ts';
import { createLimitCounter } from '../../src/server/http/token-metrics.ts';
import { createServerMetrics } from '../../src/server/metrics.ts';
import { createScrubMetrics } from '../../src/server/scrub/scrub-metrics.ts';
import { registerServiceState } from '../../src/server/service/service-state-metrics.ts';
import { registerWorkerMetrics } from '../../src/server/workers/worker-metrics.ts';
import { table } from './markdown.ts';

/** Every program has it, so the page names it once. */
const BUILD_INFO = 'slipway_build_info';

/** docs/reference/metrics.md */
export function renderMetrics(): string {
  return `# Metrics

Generated from the code by \`make docs\`; do not edit.

Every program serves \`/metrics\` on a port of its own, with these metrics, \`${BUILD_INFO}\`, and those of the process
(\`process_*\`, \`nodejs_*\`). Every counter has a sample of 0 for each value of its labels from the start, so that \`increase()\` sees
the first event. Of \`slipway_http_requests_total\` these are each operation with its method and the statuses that it declares, and 500;
another method or status has a series from its first request on. No label takes its values from a request, so the number of series has a
bound: \`slipway_http_requests_total\` starts with fewer than 250. \`slipway_verdict\` has its samples from the first verdict on, the
durations of a route from its first request on. A time or a size that is not known has none.

## Server

\`slipway_workers\` and \`slipway_worker_restarts_total\` exist only with worker processes (\`workers\`).

${rows(serverMetrics())}

## Daemon

${rows(daemonMetrics())}

## Operator

${rows(operatorMetrics())}
`;
}

/** A source that is read only when metrics are collected, which nobody does here. */
function unread(): never {
  throw new Error('the reference collects no metrics');
}

function serverMetrics(): Registry {
  const registry = new Registry();
  createServerMetrics(registry).observe({ ...UNREAD_SERVING }, unread);
  createBytePathMetrics(registry, { inFlightBytes: unread, openDescriptors: unread, cachedBytes: unread });
  createScrubMetrics(registry, { count: () => 0 });
  createAdminMetrics(registry);
  createLimitCounter(registry, [null]);
  registerServiceState(registry, unread);
  registerConnectionMetrics(registry, { size: 0, limited: { idle: 0, full: 0, address: 0 } });
  registerWorkerMetrics(registry, { running: 0, restarts: 0 });
  return registry;
}

const UNREAD_SERVING = {
  state: unread,
  verdict: unread,
  servable: unread,
  reportDamage: unread,
  watchDamage: unread,
  watchManifests: unread,
};

function daemonMetrics(): Registry {
  return createDaemonMetrics({
    version: '',
    clock: systemClock,
    restarts: 0,
    checks: unread,
    syncHistory: unread,
    nextSyncAt: unread,
    newestBackup: unread,
    backupHistory: unread,
    indexStatus: unread,
    translationStatus: unread,
    memoryCounts: unread,
    glossarySummary: unread,
    taskKinds: () => [],
    onTaskFinished: () => undefined,
    queues: unread,
    nextDueAt: unread,
    storedBytes: unread,
    releaseBytes: unread,
    damage: unread,
    attested: unread,
  });
}

function operatorMetrics(): Registry {
  const registry = new Registry();
  createOperatorMetrics(registry).observe({
    channels: unread,
    queued: unread,
    isLeading: unread,
    failuresOf: unread,
    missingFields: unread,
  });
  return registry;
}

function rows(registry: Registry): string {
  const own = registry
    .getMetricsAsArray()
    .map(describe)
    .filter(({ name }) => name.startsWith('slipway_') && name !== BUILD_INFO);
  own.sort((left, right) => (left.name < right.name ? -1 : 1));
  return table(
    ['Metric', 'Type', 'Labels', 'Meaning'],
    own.map(({ name, type, labels, help }) => [
      `\`${name}\``,
      type,
      labels.length === 0 ? '-' : labels.map((label) => `\`${label}\``).join(', '),
      help,
    ]),
  );
}

/** The parts of a metric that its type does not show. */
interface MetricParts {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

function describe(metric: unknown): {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
} {
  const { name, help, labelNames } = metric as MetricParts & Metric;
  const type = metric instanceof Counter ? 'counter' : metric instanceof Histogram ? 'histogram' : 'gauge';
  return { name, type, labels: labelNames, help };
}
