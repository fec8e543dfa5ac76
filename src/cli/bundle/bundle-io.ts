import type { Readable } from 'node:stream';
import type { Clock } from '../../platform/process/clock.ts';
import type { ProgressOutput } from '../output/progress-display.ts';

/** The environment of `slipway export` and `slipway import`. */
export interface BundleIo {
  /** For `slipway import -`: the bundle. */
  readonly stdin: Readable;
  /** Text, and for `slipway export -o -` the bundle. */
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: ProgressOutput;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Exit codes of both commands. */
export const BUNDLE_EXITS = { ok: 0, failed: 1, usage: 2 } as const;
