import process from 'node:process';

import packageManifest from '../../package.json' with { type: 'json' };
import { systemClock } from '../../src/platform/clock.ts';
import { runConfigured } from '../../src/platform/config/run-configured.ts';
import { ListenError } from '../../src/platform/http/listen.ts';
import { createLifecycle } from '../../src/platform/lifecycle.ts';
import { createLogger } from '../../src/platform/logging.ts';
import { serverConfigurationSchema, type ServerConfiguration } from '../../src/server/config.ts';
import { startServer } from '../../src/server/server.ts';

/** Beyond the propagation delay and the drain: time to stop loops and threads, milliseconds. */
const STOP_MS = 10_000;

async function start(config: ServerConfiguration): Promise<void> {
  const { version } = packageManifest;
  const logger = createLogger({ name: 'slipway-server', version, level: config.log.level });
  const { propagationDelaySeconds, drainSeconds } = config.shutdown;
  const lifecycle = createLifecycle({
    logger,
    clock: systemClock,
    exit: (code) => process.exit(code),
    deadlineMs: (propagationDelaySeconds + drainSeconds) * 1000 + STOP_MS,
  });
  try {
    await startServer(config, { clock: systemClock, logger, lifecycle, version, random: Math.random });
  } catch (error) {
    if (!(error instanceof ListenError)) throw error;
    logger.fatal(error.message);
    await lifecycle.shutdown('cannot listen', 1);
  }
}

/** Puts the server together and starts it; an exit code when it is not to run on, `null` when it was started. */
export async function runServer(): Promise<number | null> {
  return await runConfigured({
    schema: serverConfigurationSchema,
    name: 'slipway-server',
    argv: process.argv.slice(2),
    // oxlint-disable-next-line node/no-process-env -- the composition root hands the environment to the configuration
    env: process.env,
    stdout: process.stdout,
    stderr: process.stderr,
    start: async ({ config }) => start(config),
  });
}
