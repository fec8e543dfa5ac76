import type { Writable } from 'node:stream';
import type { Clock } from '../../platform/process/clock.ts';

/** The environment of `slipway dev`. */
export interface DevIo {
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable;
  readonly clock: Clock;
  /** The folder that holds `cmd/` and `bin/`. */
  readonly programDirectory: string;
  /** The problems of a file of rules for texts, one line for each. */
  readonly problemsOfRules: (path: string) => Promise<readonly string[]>;
  /** Aborted by Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
}
