import { hostname } from 'node:os';
import process from 'node:process';

import packageManifest from '../../package.json' with { type: 'json' };
import { systemClock } from '../../src/platform/process/clock.ts';
import { ListenError } from '../../src/platform/http/listen.ts';
import { createLifecycle } from '../../src/platform/process/lifecycle.ts';
import { createLogger } from '../../src/platform/logging/logging.ts';
import { createSecretMask } from '../../src/platform/logging/secret-mask.ts';
import type { ServerConfiguration } from '../../src/server/config/config.ts';
import { startServer } from '../../src/server/server.ts';
import type { WorkerLink, WorkerStart } from '../../src/server/workers/worker-link.ts';

/** Beyond the propagation delay and the drain: time to stop loops and threads, milliseconds. */
const STOP_MS = 10_000;

/**
 * Puts the one process of a server together and starts it, or one of several.
 *
 * @param worker the link to the first process and what it said, when this one is a worker
 */
export async function startServerProcess(
  config: ServerConfiguration,
  worker: (WorkerStart & { readonly link: WorkerLink }) | null,
): Promise<void> {
  const { version } = packageManifest;
  const secrets = createSecretMask();
  const base = createLogger({
    name: 'slipway-server',
    version,
    level: config.log.level,
    mask: secrets.mask,
    sharesOutput: worker !== null,
  });
  const logger = worker === null ? base : base.child({ worker: worker.slot });
  const { propagationDelaySeconds, drainSeconds } = config.shutdown;
  const lifecycle = createLifecycle({
    logger,
    clock: systemClock,
    exit: (code) => process.exit(code),
    deadlineMs: (propagationDelaySeconds + drainSeconds) * 1000 + STOP_MS,
  });
  worker?.link.onStop((reason) => {
    void lifecycle.shutdown(reason);
  });
  try {
    const deps = {
      clock: systemClock,
      logger,
      secrets,
      lifecycle,
      version,
      hostName: hostname(),
      random: Math.random,
    };
    const { url, metricsUrl, hashing } = await startServer(
      config,
      worker === null ? deps : { ...deps, shared: worker.shared },
    );
    if (worker === null) logger.info({ url, metrics_url: metricsUrl, hashing }, 'server listening');
    else worker.link.listening({ url, hashing });
  } catch (error) {
    if (!(error instanceof ListenError)) throw error;
    logger.fatal(error.message);
    await lifecycle.shutdown('cannot listen', 1);
  }
}
