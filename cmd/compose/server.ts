import process from 'node:process';

import { ConfigurationProblems, runConfigured } from '../../src/platform/config/run-configured.ts';
import { findWeakSecrets } from '../../src/server/config/weak-secrets.ts';
import { openFilesProblem, readOpenFilesLimit } from '../../src/platform/process/open-files.ts';
import { serverOpenFiles } from '../../src/server/open-files.ts';
import { serverConfigurationSchema, type ServerConfiguration } from '../../src/server/config/config.ts';

/** Each branch loads only what it needs: with several processes, the first one serves nothing. */
async function start(config: ServerConfiguration): Promise<void> {
  const weak = config.strict ? await findWeakSecrets(config) : [];
  if (weak.length > 0) throw new ConfigurationProblems(weak.map((finding) => `strict: ${finding}`));
  const files = openFilesProblem(readOpenFilesLimit(), serverOpenFiles(config));
  if (files?.isTooLow === true) throw new ConfigurationProblems([files.message]);
  if (config.workers > 1) {
    const { startServerWorkers } = await import('./server-workers.ts');
    await startServerWorkers(config);
    return;
  }
  const { startServerProcess } = await import('./server-process.ts');
  await startServerProcess(config, null);
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
