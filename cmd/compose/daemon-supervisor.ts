import { join } from 'node:path';
import process from 'node:process';
import packageManifest from '../../package.json' with { type: 'json' };
import { createDaemonSupervisor } from '../../src/daemon/supervisor/daemon-supervisor.ts';
import { forkDaemon } from '../../src/daemon/supervisor/fork-daemon.ts';
import { createLogger } from '../../src/platform/logging/logging.ts';
import { systemClock } from '../../src/platform/process/clock.ts';
import { createLifecycle } from '../../src/platform/process/lifecycle.ts';

/** The daemon has 35 seconds to stop. */
const SHUTDOWN_MS = 38_000;

/** Runs the daemon under supervision; an exit code when it must not run, otherwise `null`. */
export async function runDaemonSupervisor(): Promise<number | null> {
  const logger = createLogger({
    name: 'slipway-daemon-supervisor',
    version: packageManifest.version,
    level: 'info',
    sharesOutput: true,
  });
  const lifecycle = createLifecycle({
    logger,
    clock: systemClock,
    exit: (code) => process.exit(code),
    deadlineMs: SHUTDOWN_MS,
  });
  // Between two daemons nothing else keeps this process alive.
  const alive = setInterval(() => undefined, 60_000);
  const supervisor = createDaemonSupervisor({
    start: (supervision) =>
      forkDaemon({
        program: join(import.meta.dirname, '../daemon.ts'),
        args: process.argv.slice(2),
        // oxlint-disable-next-line node/no-process-env -- the daemon gets the environment of its supervisor
        env: process.env,
        supervision,
      }),
    clock: systemClock,
    random: Math.random,
    logger,
  });
  lifecycle.onShutdown('daemon', async (signal) => await supervisor.stop(signal));
  const code = await supervisor.run();
  clearInterval(alive);
  return lifecycle.signal.aborted ? null : code;
}
