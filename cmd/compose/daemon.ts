import { randomBytes, randomUUID } from 'node:crypto';
import process from 'node:process';
import packageManifest from '../../package.json' with { type: 'json' };
import { daemonConfigurationSchema } from '../../src/daemon/settings/config.ts';
import { Daemon } from '../../src/daemon/daemon.ts';
import { createDaemonLog } from '../../src/daemon/daemon-log.ts';
import { ForeignStoreError } from '../../src/releases/recovery/store-owner.ts';
import type { SettingsLoader } from '../../src/daemon/settings/daemon-settings.ts';
import { createSettingsLoader } from '../../src/daemon/settings/load-settings.ts';
import { answerSupervisor } from '../../src/daemon/supervisor/answer-supervisor.ts';
import { supervisionOf, type SupervisionRead } from '../../src/daemon/supervisor/supervision-of.ts';
import { systemClock as clock } from '../../src/platform/process/clock.ts';
import {
  ConfigurationProblems,
  EXIT_CONFIGURATION,
  runConfigured,
} from '../../src/platform/config/run-configured.ts';
import { noFailpoints, type Failpoints } from '../../src/platform/files/failpoints.ts';
import { createLifecycle } from '../../src/platform/process/lifecycle.ts';

/** Tasks get 20 seconds to stop; the rest takes little. */
const deadlineMs = 35_000;

async function start(load: SettingsLoader, read: SupervisionRead, failpoints: Failpoints): Promise<void> {
  const { supervision } = read;
  const reportStarted = answerSupervisor(process);
  const settings = await load();
  if (!settings.ok) throw new ConfigurationProblems(settings.error);
  const { configuration, signingKeys, warnings } = settings.value;
  const log = createDaemonLog(packageManifest.version, configuration.log.level, supervision !== null);
  const { logger } = log;
  for (const warning of [...warnings, ...read.warnings]) logger.warn(warning);
  const lifecycle = createLifecycle({ logger, clock, exit: (code) => process.exit(code), deadlineMs });
  const daemon = new Daemon(configuration, {
    clock,
    random: Math.random,
    randomBytes,
    ...log,
    failpoints,
    signingKeys,
    loadSettings: load,
    supervision,
    version: packageManifest.version,
    bootId: randomUUID(),
    requestShutdown: (reason, exitCode) => void lifecycle.shutdown(reason, exitCode),
  });
  lifecycle.onShutdown('daemon', async (signal) => await daemon.stop(signal));
  try {
    const { url, metricsUrl } = await daemon.start();
    logger.info({ url, metrics_url: metricsUrl }, 'daemon listening');
    reportStarted();
  } catch (error) {
    // A shutdown that began during the start ends it at any point.
    if (lifecycle.signal.aborted) return;
    logger.fatal({ err: error }, error instanceof Error ? error.message : 'the daemon could not start');
    const code = error instanceof ForeignStoreError ? EXIT_CONFIGURATION : 1;
    await lifecycle.shutdown('the daemon could not start', code);
  }
}

/** Puts the daemon together and starts it; an exit code when it is not to run on, `null` when it was started. */
export async function runDaemon(failpoints: Failpoints = noFailpoints): Promise<number | null> {
  // oxlint-disable-next-line node/no-process-env -- the composition root hands the environment to the configuration
  const { env } = process;
  return await runConfigured({
    schema: daemonConfigurationSchema,
    name: 'slipway-daemon',
    argv: process.argv.slice(2).map((word) => (word === '--adopt-store' ? '--snapshot.adopt=true' : word)),
    env,
    stdout: process.stdout,
    stderr: process.stderr,
    start: async (_loaded, read) => start(createSettingsLoader(read), supervisionOf(env), failpoints),
  });
}
