import { Counter, Gauge } from 'prom-client';
import type { Registry } from '../../platform/metrics/metrics.ts';

/** Registers the number of worker processes that accept clients, and of those that were started again. */
export function registerWorkerMetrics(
  registry: Registry,
  supervisor: { readonly running: number; readonly restarts: number },
): void {
  const registers = [registry];
  const running = new Gauge({
    name: 'slipway_workers',
    help: 'Worker processes that accept clients.',
    registers,
    collect: () => {
      running.set(supervisor.running);
    },
  });
  let counted = 0;
  const restarts = new Counter({
    name: 'slipway_worker_restarts_total',
    help: 'Worker processes that were restarted after they died.',
    registers,
    collect: () => {
      restarts.inc(supervisor.restarts - counted);
      counted = supervisor.restarts;
    },
  });
}
