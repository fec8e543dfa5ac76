import process from 'node:process';

import { ConfigurationProblems, exitWithProblems } from '../../src/platform/config/run-configured.ts';
import { createWorkerLink } from '../../src/server/workers/worker-link.ts';
import { startServerProcess } from './server-process.ts';

/** Runs one of several processes; an exit code when it is not to run on, `null` when it was started. */
export async function runServerWorker(): Promise<number | null> {
  const link = createWorkerLink(process);
  const start = await link.start();
  if (start === null) return 0;
  try {
    await startServerProcess(start.config, { ...start, link });
    return null;
  } catch (error) {
    if (!(error instanceof ConfigurationProblems)) throw error;
    return exitWithProblems('slipway-server', error.problems, process.stderr);
  }
}
