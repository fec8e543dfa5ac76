#!/usr/bin/env node
import process from 'node:process';
import packageManifest from '../package.json' with { type: 'json' };
import { answerShell } from '../src/cli/completion/run-completion.ts';
import { COMPLETE_COMMAND } from '../src/cli/completion/shell-scripts.ts';
import { runCtl } from '../src/cli/ctl/ctl.ts';
import { keepAlive } from '../src/platform/process/keep-alive.ts';
import { interruptSignal, processCtlIo } from './compose/ctl.ts';
import { exitWhenWritten } from './compose/exit-when-written.ts';

// `kubectl slipway ...` runs the program of this name that it finds in PATH.
const signal = interruptSignal();
const io = processCtlIo(signal);
const program = { name: 'kubectl slipway', plugin: true, version: packageManifest.version };
const [first, ...words] = process.argv.slice(2);
const main = async (): Promise<number> =>
  first === COMPLETE_COMMAND
    ? await answerShell(words, io, program, async () => await Promise.resolve(null))
    : await runCtl(process.argv.slice(2), io, program);
await exitWhenWritten(await keepAlive(main), signal);
