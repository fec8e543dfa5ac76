import type { Registry } from '../../platform/metrics/metrics.ts';
import type { ServingControl } from '../serving/serving.ts';

/** What the processes of one server tell each other about. */
export interface SharedServingParts {
  readonly serving: Pick<
    ServingControl,
    'reportDamage' | 'watchDamage' | 'offerEnvelope' | 'watchAttestation'
  >;
  /** Looks at the volume and at everything in trouble now. */
  wake(): void;
  readonly registry: Registry;
}

/** What a process does differently that shares its port with others. */
export interface SharedServing {
  /** How many there are. */
  readonly processes: number;
  /** Whether this is the one that runs the scrub. */
  readonly scrubs: boolean;
  /** Milliseconds to wait for the first verdict that will last before clients are let in; others serve them meanwhile. */
  readonly settleMs: number;
  /** What the others accepted last. */
  readonly firstEnvelope: Uint8Array | null;
  /** Called once, before anything is served. Metrics are left to whoever gets the registry. */
  join(parts: SharedServingParts): void;
}
