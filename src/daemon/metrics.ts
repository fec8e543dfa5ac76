import { Gauge } from 'prom-client';
import { createRegistry, type Registry } from '../platform/metrics/metrics.ts';
import { severityOf, type Doctor } from './reports/doctor-report.ts';
import type { Supervision } from './supervisor/supervision.ts';
import type { KindHistory } from './tasks/task-reads.ts';

/** Where the metrics of the daemon come from; they are read on every collection. */
export interface DaemonMetricsOptions {
  readonly version: string;
  readonly supervision: Supervision | null;
  readonly syncHistory: () => Pick<KindHistory, 'last' | 'succeededAt' | 'consecutiveFailures'>;
  /** When the next sync is planned, Unix seconds, or `null`. */
  readonly nextSyncAt: () => number | null;
  readonly doctor: Pick<Doctor, 'latest'>;
}

/** Creates the registry of the daemon. A time that is not known has no sample. */
export function createDaemonMetrics(options: DaemonMetricsOptions): Registry {
  const registry = createRegistry({ name: 'slipway-daemon', version: options.version });
  const gauge = (name: string, help: string, read: () => number | null): void => {
    const created: Gauge = new Gauge({
      name: `slipway_daemon_${name}`,
      help,
      registers: [registry],
      collect: () => {
        const value = read();
        if (value === null) created.remove();
        else created.set(value);
      },
    });
  };
  const { syncHistory, supervision } = options;
  gauge('sync_last_end_timestamp_seconds', 'When the last sync ended.', () => {
    return syncHistory().last?.finished_at ?? null;
  });
  gauge('sync_last_success_timestamp_seconds', 'When the last successful sync ended.', () => {
    return syncHistory().succeededAt;
  });
  gauge('sync_next_timestamp_seconds', 'When the next sync is planned.', options.nextSyncAt);
  gauge('sync_consecutive_failures', 'Failed syncs since the last success.', () => {
    return syncHistory().consecutiveFailures;
  });
  gauge('restarts', 'How often the supervisor started the daemon again since the container started.', () => {
    return supervision?.restarts ?? 0;
  });
  const checks = new Gauge({
    name: 'slipway_daemon_check_status',
    help: 'Status of each doctor check: 0 ok, 1 degraded, 2 failing.',
    labelNames: ['check'],
    registers: [registry],
    collect: () => {
      for (const { id, status } of options.doctor.latest()) checks.set({ check: id }, severityOf(status));
    },
  });
  return registry;
}
