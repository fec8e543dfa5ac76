import { Gauge, type Registry } from 'prom-client';
import { CHANNELS } from '../../domain/release/channel.ts';
import { SERVICE_REASON_NAMES } from '../../domain/service-state/service-reasons.ts';
import { SERVICE_STATE_NAMES, type ServiceState } from '../../domain/service-state/service-state.ts';
import type { ReadServiceState } from './service-state-reader.ts';

const SUBJECTS = ['all', ...CHANNELS] as const;

/** Registers the gauges of the state; every value of a label has a sample from the start. */
export function registerServiceState(registry: Registry, read: ReadServiceState): void {
  const registers = [registry];
  addGauge('slipway_service_state', 'state', SERVICE_STATE_NAMES, ({ state }) => state);
  addGauge(
    'slipway_service_reason',
    'reason',
    ['none', ...SERVICE_REASON_NAMES],
    ({ reason }) => reason ?? 'none',
  );

  function addGauge(
    name: string,
    label: 'state' | 'reason',
    values: readonly string[],
    valueOf: (state: ServiceState) => string,
  ): void {
    const gauge: Gauge<string> = new Gauge({
      name,
      help: `1 for the ${label} of the service and of each channel as /healthz shows it, 0 for all others.`,
      labelNames: ['channel', label],
      aggregator: 'max',
      registers,
      collect: () => {
        const answer = read();
        for (const channel of SUBJECTS) {
          const current = valueOf(channel === 'all' ? answer : answer.channels[channel]);
          for (const value of values) gauge.set({ channel, [label]: value }, value === current ? 1 : 0);
        }
      },
    });
  }
}
