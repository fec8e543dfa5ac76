import { join } from 'node:path';
import process from 'node:process';

import packageManifest from '../../package.json' with { type: 'json' };
import { systemClock } from '../../src/platform/process/clock.ts';
import { ListenError } from '../../src/platform/http/listen.ts';
import { createLifecycle } from '../../src/platform/process/lifecycle.ts';
import { createLogger } from '../../src/platform/logging/logging.ts';
import type { ServerConfiguration } from '../../src/server/config/config.ts';
import { startWorkers } from '../../src/server/workers/start-workers.ts';
import { WorkersFailedError } from '../../src/server/workers/supervisor.ts';

/** Beyond the propagation delay and the drain: time for the workers to end, and then for this process, milliseconds. */
const STOP_MS = 15_000;

/** Puts the first of several processes together, which serves nothing itself, and starts the others. */
export async function startServerWorkers(config: ServerConfiguration): Promise<void> {
  const { version } = packageManifest;
  const logger = createLogger({
    name: 'slipway-server',
    version,
    level: config.log.level,
    sharesOutput: true,
  });
  const { propagationDelaySeconds, drainSeconds } = config.shutdown;
  const lifecycle = createLifecycle({
    logger,
    clock: systemClock,
    exit: (code) => process.exit(code),
    deadlineMs: (propagationDelaySeconds + drainSeconds) * 1000 + STOP_MS,
  });
  try {
    await startWorkers(config, {
      program: join(import.meta.dirname, '../server-worker.ts'),
      clock: systemClock,
      logger,
      lifecycle,
      version,
      random: Math.random,
    });
  } catch (error) {
    const isKnown = error instanceof ListenError || error instanceof WorkersFailedError;
    if (!isKnown) throw error;
    logger.fatal(error.message);
    await lifecycle.shutdown('cannot start', error instanceof WorkersFailedError ? error.code : 1);
  }
}
