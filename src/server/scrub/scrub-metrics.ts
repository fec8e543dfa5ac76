import { Counter, Gauge, type Registry } from 'prom-client';
import { DAMAGE_KINDS } from '../../domain/verdict/damage-kind.ts';
import type { ScrubState } from './scrub-state.ts';
import { SCRUB_STEPS } from './scrub-order.ts';

/** The metrics of the scrub. */
export interface ScrubMetrics {
  readonly objects: Counter;
  readonly bytes: Counter;
  readonly damage: Counter<'kind'>;
  readonly skipped: Counter;
  show(state: ScrubState): void;
}

/**
 * Registers the metrics of the scrub.
 *
 * @param found the objects that it found damaged
 */
export function createScrubMetrics(registry: Registry, found: { count(): number }): ScrubMetrics {
  const registers = [registry];
  const damaged = new Gauge({
    name: 'slipway_scrub_damaged_objects',
    help: 'Missing or damaged objects that the scrub found since the start, of releases that the attestation still names.',
    registers,
    collect: () => {
      damaged.set(found.count());
    },
  });
  const pass = new Gauge({ name: 'slipway_scrub_pass', help: 'Number of the current pass.', registers });
  const ofPass = new Gauge({
    name: 'slipway_scrub_pass_damaged_objects',
    help: 'Missing or damaged objects that the current pass found so far.',
    registers,
  });
  const progress = new Gauge({
    name: 'slipway_scrub_pass_ratio',
    help: 'Completed share of the current pass, 0 to 1.',
    registers,
  });
  let completedAt: number | null = null;
  const completed = new Gauge({
    name: 'slipway_scrub_completed_timestamp_seconds',
    help: 'When the last pass was completed, Unix seconds; absent before the first one is.',
    registers,
    collect: () => {
      if (completedAt === null) completed.remove();
      else completed.set(completedAt);
    },
  });
  const damage = new Counter({
    name: 'slipway_scrub_damage_total',
    help: 'Damage that the scrub found, by kind: missing or damaged.',
    labelNames: ['kind'],
    registers,
  });
  // increase() does not count the first sample of a series.
  for (const kind of DAMAGE_KINDS) damage.inc({ kind }, 0);
  return {
    objects: new Counter({
      name: 'slipway_scrub_objects_total',
      help: 'Objects that the scrub checked.',
      registers,
    }),
    bytes: new Counter({
      name: 'slipway_scrub_bytes_total',
      help: 'Bytes that the scrub hashed.',
      registers,
    }),
    damage,
    skipped: new Counter({
      name: 'slipway_scrub_skipped_total',
      help: 'Objects that the scrub could not check for lack of descriptors, memory or threads.',
      registers,
    }),
    show: (state) => {
      pass.set(state.pass);
      ofPass.set(state.damaged);
      progress.set(state.steps_done / SCRUB_STEPS);
      ({ completed_at: completedAt } = state);
    },
  };
}
