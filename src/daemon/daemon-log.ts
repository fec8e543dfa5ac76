import { createLogger, standardOutput, type LoggerOptions } from '../platform/logging/logging.ts';
import { createSecretMask } from '../platform/logging/secret-mask.ts';
import type { DaemonOptions } from './daemon-options.ts';
import { createLogRing } from './reports/log-ring.ts';

/** Creates the log of the daemon: on standard output and in the ring for daemon.logs, with the tokens masked in both. */
export function createDaemonLog({
  version,
  level,
  sharesOutput,
}: Required<Pick<LoggerOptions, 'version' | 'level' | 'sharesOutput'>>): Pick<
  DaemonOptions,
  'logger' | 'logRing' | 'secrets'
> {
  const logRing = createLogRing(standardOutput(sharesOutput));
  const secrets = createSecretMask();
  const logger = createLogger({
    name: 'slipway-daemon',
    version,
    level,
    mask: secrets.mask,
    destination: logRing,
  });
  return { logger, logRing, secrets };
}
