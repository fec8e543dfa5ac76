import { Counter, Gauge } from 'prom-client';
import type { Connections, LimitReason } from '../platform/http/connections.ts';
import type { Registry } from '../platform/metrics/metrics.ts';

const REASONS: readonly LimitReason[] = ['idle', 'full', 'address'];

/** Registers the number of connections of the public port, and of those closed for the sake of its limits. */
export function registerConnectionMetrics(
  registry: Registry,
  connections: { readonly size: number; readonly limited: Connections['limited'] },
): void {
  const registers = [registry];
  const open = new Gauge({
    name: 'slipway_http_connections',
    help: 'Open connections of the public port.',
    registers,
    collect: () => {
      open.set(connections.size);
    },
  });
  const counted: Record<LimitReason, number> = { idle: 0, full: 0, address: 0 };
  const closed = new Counter({
    name: 'slipway_http_connections_limited_total',
    help: 'Connections closed because of a limit: idle (made room for a new one), full (new, none was idle), address (new, too many of one client).',
    labelNames: ['reason'],
    registers,
    collect: () => {
      for (const reason of REASONS) {
        closed.inc({ reason }, connections.limited[reason] - counted[reason]);
        counted[reason] = connections.limited[reason];
      }
    },
  });
}
