import {
  createLogger,
  standardOutput,
  type Logger,
  type LoggerOptions,
} from '../platform/logging/logging.ts';
import { createSecretMask, type SecretMask } from '../platform/logging/secret-mask.ts';
import { createLogRing, type LogRing } from './reports/log-ring.ts';

/** Creates the log of the daemon: on standard output and in the ring for daemon.logs, with the tokens masked in both. */
export function createDaemonLog(
  version: string,
  level: LoggerOptions['level'],
  sharesOutput: boolean,
): { readonly logger: Logger; readonly logRing: LogRing; readonly secrets: SecretMask } {
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
