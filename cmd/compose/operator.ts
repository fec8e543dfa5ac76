import { randomBytes, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import process from 'node:process';
import packageManifest from '../../package.json' with { type: 'json' };
import { operatorConfigurationSchema, type OperatorConfiguration } from '../../src/operator/config.ts';
import { KubeconfigError } from '../../src/operator/kubernetes/kubeconfig.ts';
import { loadClusterAccess } from '../../src/operator/kubernetes/load-cluster-access.ts';
import { startOperator } from '../../src/operator/operator.ts';
import { systemClock } from '../../src/platform/process/clock.ts';
import { ConfigurationProblems, runConfigured } from '../../src/platform/config/run-configured.ts';
import { ListenError } from '../../src/platform/http/listen.ts';
import { createUlidFactory } from '../../src/platform/process/ids.ts';
import { createLifecycle } from '../../src/platform/process/lifecycle.ts';
import { createLogger } from '../../src/platform/logging/logging.ts';

/** Calls that are under way end with their own deadlines, well within this. */
const SHUTDOWN_MS = 25_000;

type Environment = Readonly<Record<string, string | undefined>>;

async function start(config: OperatorConfiguration, env: Environment): Promise<void> {
  const { version } = packageManifest;
  const access = await loadClusterAccess(config.kubernetes, env).catch((error: unknown) => {
    if (error instanceof KubeconfigError) throw new ConfigurationProblems([error.message]);
    throw error;
  });
  const logger = createLogger({ name: 'slipway-operator', version, level: config.log.level });
  const lifecycle = createLifecycle({
    logger,
    clock: systemClock,
    exit: (code) => process.exit(code),
    deadlineMs: SHUTDOWN_MS,
  });
  try {
    await startOperator(config, {
      access,
      clock: systemClock,
      random: Math.random,
      logger,
      lifecycle,
      version,
      identity: `${hostname()}_${randomUUID()}`,
      createId: createUlidFactory({ clock: systemClock, randomBytes }),
    });
  } catch (error) {
    if (!(error instanceof ListenError)) throw error;
    logger.fatal(error.message);
    await lifecycle.shutdown('cannot listen', 1);
  }
}

/** Puts the operator together and starts it; an exit code when it is not to run on, `null` when it was started. */
export async function runOperator(): Promise<number | null> {
  // oxlint-disable-next-line node/no-process-env -- the composition root hands the environment to the configuration
  const { env } = process;
  return await runConfigured({
    schema: operatorConfigurationSchema,
    name: 'slipway-operator',
    argv: process.argv.slice(2),
    env,
    stdout: process.stdout,
    stderr: process.stderr,
    start: async ({ config }) => start(config, env),
  });
}
