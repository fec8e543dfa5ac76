import { randomBytes, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import process from 'node:process';
import packageManifest from '../../package.json' with { type: 'json' };
import { operatorConfigurationSchema, type OperatorConfiguration } from '../../src/operator/config.ts';
import { startOperator } from '../../src/operator/operator.ts';
import { systemClock } from '../../src/platform/process/clock.ts';
import { ConfigurationProblems, runConfigured } from '../../src/platform/config/run-configured.ts';
import { ListenError } from '../../src/platform/http/listen.ts';
import { connectCluster, type ClusterConnection } from '../../src/platform/kubernetes/cluster-connection.ts';
import { KubeConfigError, loadKubeConfig } from '../../src/platform/kubernetes/kube-config.ts';
import { createUlidFactory } from '../../src/platform/process/ids.ts';
import { createLifecycle } from '../../src/platform/process/lifecycle.ts';
import { createLogger } from '../../src/platform/logging/logging.ts';

/** Calls end at their own deadlines, well within this. */
const SHUTDOWN_MS = 25_000;

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws ConfigurationProblems */
async function connect(
  { kubeconfig, context }: OperatorConfiguration['kubernetes'],
  env: Environment,
): Promise<ClusterConnection> {
  try {
    const loaded = await loadKubeConfig({ file: kubeconfig, context, env, requireVerifiedTls: true });
    return connectCluster(loaded, `slipway-operator/${packageManifest.version}`);
  } catch (error) {
    if (error instanceof KubeConfigError) throw new ConfigurationProblems([error.message]);
    throw error;
  }
}

async function start(config: OperatorConfiguration, env: Environment): Promise<void> {
  const { version } = packageManifest;
  const connection = await connect(config.kubernetes, env);
  const logger = createLogger({ name: 'slipway-operator', version, level: config.log.level });
  const lifecycle = createLifecycle({
    logger,
    clock: systemClock,
    exit: (code) => process.exit(code),
    deadlineMs: SHUTDOWN_MS,
  });
  try {
    await startOperator(config, {
      connection,
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

/** Assembles and starts the operator. @returns an exit code, or `null` when it was started */
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
