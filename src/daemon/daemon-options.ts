import type { SigningKey } from '../attestation/keys.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { Failpoints } from '../platform/files/failpoints.ts';
import type { Logger } from '../platform/logging/logging.ts';
import type { SecretMask } from '../platform/logging/secret-mask.ts';
import type { LogRing } from './reports/log-ring.ts';
import type { SettingsLoader } from './settings/daemon-settings.ts';
import type { Supervision } from './supervisor/supervision.ts';

/** The collaborators that the program passes to the daemon. */
export interface DaemonOptions {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly logger: Logger;
  /** Masks the tokens in logs and records; the daemon adds its own. */
  readonly secrets: SecretMask;
  /** The newest lines of the log, for daemon.logs. */
  readonly logRing: LogRing;
  readonly failpoints: Failpoints;
  readonly signingKeys: readonly SigningKey[];
  /** Reads the configuration and the keys again, for the reload action. */
  readonly loadSettings: SettingsLoader;
  /** The processes before this one; `null` without a supervisor. */
  readonly supervision: Supervision | null;
  readonly version: string;
  /** Different for every start of the process. */
  readonly bootId: string;
  /** Starts a clean shutdown: for the restart action, or with an exit code when the lease of the volume is lost. */
  readonly requestShutdown: (reason: string, exitCode?: number) => void;
}
