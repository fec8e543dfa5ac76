import type { Registry } from '../../platform/metrics/metrics.ts';
import type { MinuteOfProcess } from '../history/server-history.ts';
import type { ServingControl } from '../serving/serving.ts';

/** The parts that the processes of one server share. */
export interface SharedServingParts {
  readonly serving: ServingControl;
  addMinute(minute: MinuteOfProcess): void;
  /** Checks the volume and everything in trouble now. */
  wake(): void;
  readonly registry: Registry;
}

/** The differences for a process that shares its port with others. */
export interface SharedServing {
  readonly processes: number;
  readonly scrubs: boolean;
  /** Milliseconds to wait for the first settled verdict before clients are accepted; others serve them meanwhile. */
  readonly settleMs: number;
  /** The attestation that the others accepted last. */
  readonly firstEnvelope: Uint8Array | null;
  shareMinute(own: MinuteOfProcess): void;
  /** Called once, before anything is served. The receiver of the registry serves the metrics. */
  join(parts: SharedServingParts): void;
}
