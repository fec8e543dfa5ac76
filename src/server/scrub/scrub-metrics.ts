import { Counter, Gauge, type Registry } from 'prom-client';
import type { ScrubState } from './scrub-state.ts';
import { SCRUB_STEPS } from './scrub-order.ts';

/** What the scrub counts. */
export interface ScrubMetrics {
  readonly objects: Counter;
  readonly bytes: Counter;
  readonly damage: Counter<'kind'>;
  readonly skipped: Counter;
  /** Shows how far it is. */
  show(state: ScrubState): void;
}

/** Registers the metrics of the scrub. */
export function createScrubMetrics(registry: Registry): ScrubMetrics {
  const registers = [registry];
  const pass = new Gauge({ name: 'slipway_scrub_pass', help: 'Number of the present pass.', registers });
  const progress = new Gauge({
    name: 'slipway_scrub_pass_ratio',
    help: 'How much of the present pass is done, 0 to 1.',
    registers,
  });
  let completedAt: number | null = null;
  const completed = new Gauge({
    name: 'slipway_scrub_completed_timestamp_seconds',
    help: 'When every object was looked at last, Unix seconds; absent before the first pass is complete.',
    registers,
    collect: () => {
      if (completedAt === null) completed.reset();
      else completed.set(completedAt);
    },
  });
  return {
    objects: new Counter({
      name: 'slipway_scrub_objects_total',
      help: 'Objects that the scrub looked at.',
      registers,
    }),
    bytes: new Counter({
      name: 'slipway_scrub_bytes_total',
      help: 'Bytes that the scrub hashed.',
      registers,
    }),
    damage: new Counter({
      name: 'slipway_scrub_damage_total',
      help: 'Damage that the scrub found, by kind: missing or damaged.',
      labelNames: ['kind'],
      registers,
    }),
    skipped: new Counter({
      name: 'slipway_scrub_skipped_total',
      help: 'Objects that could not be looked at for want of descriptors, memory or threads.',
      registers,
    }),
    show: (state) => {
      pass.set(state.pass);
      progress.set(state.stepsDone / SCRUB_STEPS);
      ({ completedAt } = state);
    },
  };
}
