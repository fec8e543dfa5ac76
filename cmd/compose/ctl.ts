import process from 'node:process';
import type { CtlIo } from '../../src/cli/ctl/ctl-context.ts';
import { systemClock } from '../../src/platform/process/clock.ts';
import { exitWithoutOutput } from './exit-when-written.ts';

/** The streams, environment and clock of this process, for `slipway ctl` and the plugin of kubectl. */
export function processCtlIo(signal: AbortSignal): CtlIo {
  process.stdout.on('error', exitWithoutOutput);
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    stdin: process.stdin,
    // oxlint-disable-next-line node/no-process-env -- the composition root hands the environment down
    env: process.env,
    clock: systemClock,
    signal,
  };
}

/** A signal that Ctrl-C and SIGTERM abort. A second one ends the process immediately. */
export function interruptSignal(): AbortSignal {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (interrupted.signal.aborted) process.exit(1);
      interrupted.abort(new Error(signal));
    });
  }
  return interrupted.signal;
}
