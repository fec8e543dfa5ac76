#!/usr/bin/env node
import { join } from 'node:path';
import process from 'node:process';
import { runDev } from '../src/cli/dev/dev.ts';
import { runKeygen } from '../src/cli/keygen.ts';
import { runVerify } from '../src/cli/verify.ts';
import { systemClock } from '../src/platform/clock.ts';

const USAGE = `Usage: slipway COMMAND [OPTIONS]

  dev      starts the daemon and the server on a demo release
  keygen   makes a signing key
  verify   checks a snapshot volume offline

slipway COMMAND --help says more.
`;

const interrupted = new AbortController();
const [command = '', ...args] = process.argv.slice(2);
const io = { stdout: process.stdout, stderr: process.stderr };

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // The second one means it: the first was asked to end in order.
    if (interrupted.signal.aborted) process.exit(1);
    interrupted.abort(new Error(signal));
  });
}

async function main(): Promise<number> {
  switch (command) {
    case 'dev': {
      const programDirectory = join(import.meta.dirname, '..');
      return await runDev(args, { ...io, clock: systemClock, programDirectory, signal: interrupted.signal });
    }
    case 'keygen':
      return await runKeygen(args, io);
    case 'verify':
      return await runVerify(args, { ...io, signal: interrupted.signal });
    case 'help':
    case '--help':
      process.stdout.write(USAGE);
      return 0;
    default:
      process.stderr.write(command === '' ? USAGE : `slipway: no command "${command}"\n\n${USAGE}`);
      return 2;
  }
}

process.exit(await main());
